"""Parts for each target language: where they equal the plain model, and what a language touches."""

import pytest
import torch
from support.built_models import moved
from support.covering import one_in
from support.parity_cases import EXACT, LANGUAGE_AWARE, PAD, TWO_STAGE, build, grown_from, name_of

from tdo_plugin.modules.declared_options import options_of
from tdo_plugin.modules.methods.language_norm import LanguageNorm
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

LANGUAGES = torch.tensor([1, 0, 1, 0])


def without_languages(case):
    parts = {name for name, option in options_of(ModelSpec).items() if option.needs}
    return {key: value for key, value in case.items() if key not in {*parts, "num_languages"}}


def features(model, batch, languages):
    """In one pass, source and target side by side."""
    source, previous, _ = batch
    context = NO_CONTEXT if languages is None else TokenContext.of_targets(languages)
    return model([SourceRequest(source, context=context)], previous)[1][previous.ne(PAD)]


@pytest.mark.parametrize("case", one_in(2, LANGUAGE_AWARE), ids=name_of)
def test_a_plain_checkpoint_starts_from_the_same_function(case, batch):
    plain = moved(build(**without_languages(case)))
    start = "none" if case.get("lalt", "none") == "none" else "identity"
    aware = grown_from(plain, **{**case, "lalt": start})
    expected = features(plain, batch, None)
    for languages in (LANGUAGES, torch.zeros(4, dtype=torch.long)):
        torch.testing.assert_close(features(aware, batch, languages), expected, **EXACT)
    source, previous, _ = batch
    stepwise = aware.decode(
        previous, aware.encode(source, context=TokenContext.of_targets(LANGUAGES))
    )
    torch.testing.assert_close(stepwise[previous.ne(PAD)], expected, **EXACT)


def test_which_norms_are_of_languages():
    """Where both streams pass and one is left out, its positions have a row of their own."""

    def rows(**case):
        model = build(**case, num_languages=3, norm="pre")
        return {
            name: len(module.weight)
            for name, module in model.named_modules()
            if isinstance(module, LanguageNorm)
        }

    two_stage = {"topology": "decoder-only", "num_layers": 2, "target_layer": 1}
    names = ("attention_residual.norm", "feed_forward_residual.norm")
    below, above = ([f"stack.layers.{layer}.{name}" for name in names] for layer in (0, 1))
    entry, exit_ = ["stack.bridge.0"], ["stack.output_block.0"]
    assert rows(**two_stage, laln="both") == dict.fromkeys(below + above + entry + exit_, 3)
    source, target = rows(**two_stage, laln="source"), rows(**two_stage, laln="target")
    assert source == {**dict.fromkeys(below + entry, 3), **dict.fromkeys(above, 4)}
    assert target == {**dict.fromkeys(exit_, 3), **dict.fromkeys(above, 4)}
    encdec = {"topology": "encoder-decoder", "encoder_layers": 1, "decoder_layers": 1}
    assert len(rows(**encdec, laln="both")) == 2 + 3 + 2
    assert set(rows(**encdec, laln="source").values()) == {3}
    assert len(rows(**encdec, laln="source")) == 3
    assert len(rows(**encdec, laln="target")) == 4


def test_languages_must_be_told(batch):
    source, previous, _ = batch
    for parts in ({"laln": "both"}, {"lalt": "identity"}):
        model = build(**TWO_STAGE, **parts, num_languages=2)
        with pytest.raises(ValueError, match="needs the language of every sentence"):
            model([SourceRequest(source)], previous)
