"""Trainings on a GPU that is not there: devices, waits, types and the largest tensor."""

import dataclasses
import enum
import typing

import pytest
from support.covering import mostly_full
from support.rehearsed import PRECISIONS, ROWS, VOCABULARY, made, rehearse_training
from support.rehearsed_cases import BASE, CRITERION, TRAININGS

from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import TermsConfig
from tdo_plugin.criterions.term_list import TERMS
from tdo_plugin.models.presets import PRESETS, SYSTEMS
from tdo_plugin.modules.declared_options import options_of
from tdo_plugin.modules.losses import lexical_loss, linear_cross_entropy
from tdo_plugin.modules.spec import ModelSpec

SMALL = tuple(f"{system}_small" for system in SYSTEMS)
WHOLE_LOGITS = {"encoder-decoder"}  # --cross-entropy whole
# sizes, and what is no matter of devices
UNCOUNTED = {"init", "num_layers", "encoder_layers", "decoder_layers", "stage1_ffn_dim"}
UNCOUNTED |= {"stage2_ffn_dim", "model_dim", "num_heads", "dropout"}
# fp16 has most of the ways to fail; these have more without it
QUICK = {
    "fp16": {*TRAININGS},
    "fp32": {"two-stage", "encoder-decoder", "all terms, other choices", "back-translation"},
    "bf16": {"two-stage", "all terms"},
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Fewer tokens at a time than a batch has."""
    monkeypatch.setitem(linear_cross_entropy.ROWS, "cuda", (ROWS, ROWS // 2))
    monkeypatch.setattr(lexical_loss, "ROWS", ROWS)


def cases():
    """Every training in fp16, a few in fp32 and bf16; in the full tier all."""
    for name in TRAININGS:
        for precision in PRECISIONS:
            marks = () if name in QUICK[precision] else pytest.mark.full
            yield pytest.param(name, precision, marks=marks)


@pytest.mark.parametrize(("name", "precision"), [*cases()])
def test_waits_only_where_it_is_known(name, precision):
    update, validation, size = rehearse_training(*TRAININGS[name], *PRECISIONS[precision])
    assert not update.unknown() + validation.unknown()
    assert update.units["update"] == 1
    for found in (update, validation):
        # a search has a row of logits for each hypothesis
        if name not in WHOLE_LOGITS and not found.units["step"]:
            assert found.largest <= max(ROWS * VOCABULARY, size) < found.tokens * VOCABULARY


@pytest.mark.parametrize("precision", mostly_full(["fp16", "fp32", "bf16"]))
@pytest.mark.parametrize(
    "arch", mostly_full([*SMALL, *sorted(set(PRESETS) - {*SMALL})], len(SMALL))
)
def test_presets(arch, precision):
    narrow = ("--tdo-adaptation-dim", "6") if arch.startswith("tdo_transformer") else ()
    flags = (*BASE, "--arch", arch, *narrow, *CRITERION, *PRECISIONS[precision])
    update, validation, _ = rehearse_training(*flags)
    assert not update.unknown() + validation.unknown()


def test_every_choice_is_rehearsed():
    built = {name: made(*flags) for name, flags in TRAININGS.items()}
    specs = [model.core.spec for _, _, model, _ in built.values()]
    hints = typing.get_type_hints(ModelSpec)
    for name, option in options_of(ModelSpec).items():
        values = {getattr(spec, name) for spec in specs}
        choices = set(typing.get_args(hints[name])) if name not in UNCOUNTED else set()
        assert choices <= values, f"{name}: {choices - values}"
        assert name in UNCOUNTED or values - {option.default, option.off, False}, name
    options = [args for args, *_ in built.values()]
    assert {*TERMS} <= {term for _, _, _, criterion in built.values() for term in criterion.terms}
    for declared in dataclasses.fields(TermsConfig):
        values = {str(getattr(args, declared.name, None)) for args in options}
        if isinstance(declared.type, type) and issubclass(declared.type, enum.Enum):
            assert {choice.value for choice in declared.type} <= values, declared.name
        elif declared.type is bool:
            assert "True" in values, declared.name
    assert {type(task).__name__ for _, task, _, _ in built.values()} == {
        "TdoRobtTask",
        "TdoTranslationTask",
    }
