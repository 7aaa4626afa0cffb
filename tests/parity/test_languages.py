"""Parts for each target language: where they equal the plain model, and what a language touches."""

import pytest
import torch
from support.built_models import moved
from support.parity_cases import LANGUAGE_AWARE, PAD, TWO_STAGE, name_of
from support.parity_models import build

from tdo_plugin.models.languages import grown
from tdo_plugin.modules.declared_options import options_of
from tdo_plugin.modules.grouped_linear import PerLanguage
from tdo_plugin.modules.methods.language_norm import LanguageNorm
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

EXACT = {"rtol": 0, "atol": 1e-9}
LANGUAGES = torch.tensor([1, 0, 1, 0])


def without_languages(case):
    parts = {name for name, option in options_of(ModelSpec).items() if option.needs}
    return {key: value for key, value in case.items() if key not in {*parts, "num_languages"}}


def features(model, batch, languages):
    """In one pass, source and target side by side."""
    source, previous, _ = batch
    context = NO_CONTEXT if languages is None else TokenContext.of_targets(languages)
    return model([SourceRequest(source, context=context)], previous)[1][previous.ne(PAD)]


@pytest.mark.parametrize("case", LANGUAGE_AWARE, ids=name_of)
def test_a_plain_checkpoint_starts_from_the_same_function(case, batch):
    plain = moved(build(**without_languages(case)))
    start = "none" if case.get("lalt", "none") == "none" else "identity"
    aware = build(**{**case, "lalt": start})
    state = {f"core.{name}": tensor for name, tensor in plain.state_dict().items()}
    grown_state = grown(state, aware, None)
    aware.load_state_dict(
        {name.removeprefix("core."): tensor for name, tensor in grown_state.items()}
    )
    expected = features(plain, batch, None)
    for languages in (LANGUAGES, torch.zeros(4, dtype=torch.long)):
        torch.testing.assert_close(features(aware, batch, languages), expected, **EXACT)
    source, previous, _ = batch
    stepwise = aware.decode(
        previous, aware.encode(source, context=TokenContext.of_targets(LANGUAGES))
    )
    torch.testing.assert_close(stepwise[previous.ne(PAD)], expected, **EXACT)


@pytest.mark.parametrize("case", LANGUAGE_AWARE, ids=name_of)
def test_languages_of_a_batch_do_not_mix(case, batch):
    """Sentences of two languages together, and each language in a batch of its own."""
    model = moved(build(**case))
    source, previous, _ = batch
    mixed = model([SourceRequest(source, context=TokenContext.of_targets(LANGUAGES))], previous)[1]
    for language in (0, 1):
        rows = LANGUAGES.eq(language)
        separate = model(
            [SourceRequest(source[rows], context=TokenContext.of_targets(LANGUAGES[rows]))],
            previous[rows],
        )[1]
        real = previous[rows].ne(PAD)
        torch.testing.assert_close(separate[real], mixed[rows][real], **EXACT)
        swapped = model(
            [SourceRequest(source[rows], context=TokenContext.of_targets(1 - LANGUAGES[rows]))],
            previous[rows],
        )[1]
        assert not torch.isclose(separate[real], swapped[real], atol=1e-6).all(-1).any()


@pytest.mark.parametrize("case", LANGUAGE_AWARE, ids=name_of)
def test_an_absent_language_has_no_gradient(case, batch):
    """Nor does one that is there lack it, nor the row of positions that are of none.

    Of the last layer's source only keys and values are computed: its norms may know one stream.
    """
    model = moved(build(**{**case, "num_languages": 3}))
    features(model, batch, LANGUAGES).square().sum().backward()
    parts = [part for part in model.modules() if isinstance(part, PerLanguage)]
    assert parts
    last = set(model.stack.target_layers[-1].modules())
    for part in parts:
        for name, parameter in part.named_parameters():
            touched = (parameter.grad.flatten(1).abs().sum(1) > 0).tolist()
            assert not touched[2], name
            if len(parameter) == 3 or part not in last:
                assert touched == [True, True, False, True][: len(parameter)], name


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_mixed_precision_region(dtype, batch):
    model = moved(build(**TWO_STAGE, laln="both", lalt="xavier", num_languages=2)).float()
    expected = features(model, batch, LANGUAGES)
    with torch.autocast("cpu", dtype, enabled=dtype == torch.bfloat16):
        output = features(model, batch, LANGUAGES)
    torch.testing.assert_close(output.float(), expected, rtol=0.05, atol=0.1)
    half = features(model.to(torch.bfloat16), batch, LANGUAGES)
    torch.testing.assert_close(half.float(), expected, rtol=0.1, atol=0.2)
