"""Preference: the formula, what is read, and models of which the answer is known."""

from collections import Counter

import pytest
import torch
from support.probed_models import EOS, TAG, core

from tdo_plugin.analysis.preference.measure import measure
from tdo_plugin.analysis.preference.pooled import pooled_outputs
from tdo_plugin.analysis.preference.similarity import forms
from tdo_plugin.modules.token_context import NO_CONTEXT

TAGS = {"de": TAG, "fr": TAG - 1, "it": TAG - 2}
LAYERS = (1, 2, 3)
FORMS = forms(0.99)


def drawn(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def read_of(model, sentences=30):
    """What a model makes of words drawn for each language, in one batch."""
    words = {
        language: torch.randint(3, 18, (sentences, 5), generator=torch.Generator().manual_seed(tag))
        for language, tag in TAGS.items()
    }

    def read(language, tag):
        ends = [torch.full((sentences, 1), token) for token in (TAGS[tag], EOS)]
        tokens = torch.cat([ends[0], words[language], ends[1]], 1)
        batches = [(torch.arange(sentences), tokens, NO_CONTEXT)]
        return pooled_outputs(model, batches, LAYERS, sentences)

    return read


def test_every_reading_is_made_once():
    read, seen = read_of(core("prefix")), Counter()

    def counted(*both):
        seen[both] += 1
        return read(*both)

    pairs = ["de-fr", "fr-de", "de-it"]
    assert measure(counted, pairs, FORMS).chance > 0
    copies = [(language, language) for language in TAGS]
    assert seen == Counter([*copies, *(tuple(pair.split("-")) for pair in pairs)])


def test_states_that_ignore_the_tag_are_those_of_the_source():
    model = core("prefix")
    weight = model.embeddings.source.weight
    with torch.no_grad():
        for tag in TAGS.values():
            weight[tag] = weight[TAG]
    measured = measure(read_of(model), ["de-fr", "fr-it"], FORMS)
    assert all(row.rho_source == pytest.approx(1, abs=1e-6) for row in measured.preferences)
    assert all(row.score < 0.5 for row in measured.preferences)


def test_states_that_are_all_of_the_tag_are_those_of_the_target():
    states = {language: drawn(40, 8, seed=tag) for language, tag in TAGS.items()}
    measured = measure(lambda language, tag: {1: states[tag]}, ["de-fr"], FORMS)
    assert all(row.rho_target == pytest.approx(1, abs=1e-6) for row in measured.preferences)
    assert all(row.score > 0.5 for row in measured.preferences)
    # midway between both it is neither's
    both = {"de": states["de"], "fr": states["de"] @ torch.linalg.qr(drawn(8, 8, seed=1))[0]}
    (_, row) = measure(lambda language, tag: {1: both[tag]}, ["de-fr"], FORMS).preferences
    assert row.score == pytest.approx(0.5, abs=1e-6)


def test_too_few_sentences_are_refused(refused):
    read = read_of(core("prefix"), 4)
    with refused.raised("four sentences", names="--sentences"):
        measure(read, ["de-fr"], forms(1.0))
    measured = measure(read, ["de-fr"], {"sentence": FORMS["sentence"]})
    assert len(measured.preferences) == 3 and measured.chance == 0
