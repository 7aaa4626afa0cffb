"""Who is translated back, and into which language."""

from collections import Counter

import pytest
import torch

from tdo_plugin.tasks.robt.direction_sampling import draw
from tdo_plugin.tasks.step_hooks import key_of

LANGUAGES = (2, 3, 5, 7)


def counted(targets, languages=LANGUAGES, share=1.0, batches=400):
    counts = Counter()
    for update in range(batches):
        counts.update(zip(targets, draw([1, update], targets, languages, share), strict=True))
    return counts


def test_uniform_over_all_but_the_own_language():
    """One that is not among them has one choice more."""
    targets = [2, 7, 4] * 10
    counts = counted(targets)
    for target in (2, 7, 4):
        choices = [language for language in LANGUAGES if language != target]
        assert {drawn for language, drawn in counts if language == target} == set(choices)
        mean = 4000 / len(choices)
        # six standard deviations
        spread = 6 * (mean * (1 - 1 / len(choices))) ** 0.5
        for language in choices:
            assert counts[target, language] == pytest.approx(mean, abs=spread)


def test_share():
    counts = counted([2, 3, 7] * 10, share=0.3)
    none = sum(count for (_, drawn), count in counts.items() if drawn is None)
    assert none == pytest.approx(0.7 * 12000, abs=6 * (12000 * 0.21) ** 0.5)
    assert None not in {drawn for _, drawn in counted([2, 3], share=1.0)}


def test_a_share_leaves_the_languages_that_are_drawn():
    targets = [2, 3, 5] * 5
    whole, half = (draw([4, 2], targets, LANGUAGES, share) for share in (1.0, 0.5))
    assert [drawn for drawn in half if drawn] == [a for a, b in zip(whole, half, strict=True) if b]


def test_listed_targets_leave_the_languages_that_are_drawn():
    """Only sentences whose own target is among the languages keep theirs."""
    targets = [2, 3, 4, 7, 9] * 20
    of_all, of_listed = (draw([4, 2], targets, LANGUAGES, 0.5, listed) for listed in (False, True))
    expected = [
        drawn if target in LANGUAGES else None
        for target, drawn in zip(targets, of_all, strict=True)
    ]
    assert of_listed == expected != of_all


def sample(ids, source=(1, 2, 3), target=(2, 3, 1)):
    fed = {
        "src_lang_id": torch.tensor(source)[:, None],
        "tgt_lang_id": torch.tensor(target)[:, None],
    }
    return {"id": torch.tensor(ids), "net_input": fed}


def test_draws_are_a_function_of_seed_update_and_sentences():
    batch = sample([7, 8, 9])
    key = key_of(batch, 3, 40)
    targets = [2, 3, 1] * 5

    def drawn(key):
        return draw(key, targets, LANGUAGES, 1.0)

    assert drawn(key) == drawn(key_of(sample([7, 8, 9]), 3, 40))
    other_keys = [
        key_of(batch, 4, 40),
        key_of(batch, 3, 41),
        key_of(sample([7, 8, 10]), 3, 40),
        key_of(sample([7, 8, 9], source=(1, 2, 4)), 3, 40),
        key_of(sample([7, 8, 9], target=(2, 3, 4)), 3, 40),
    ]
    draws = [tuple(drawn(sampling_key)) for sampling_key in (key, *other_keys)]
    assert len(set(draws)) == len(draws)


def test_a_negative_seed():
    assert draw(key_of(sample([7, 8, 9]), -1, 0), [2, 3, 5], LANGUAGES, 1.0)
