"""Trainings on a GPU that is not there: devices, waits, types and the largest tensor."""

import dataclasses
import enum
import typing

import pytest
from support.covering import mostly_full
from support.rehearsed import ROWS, VOCABULARY, made, rehearse_training
from support.rehearsed_cases import EVERY, METHODS, TRAININGS

from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import TermsConfig
from tdo_plugin.criterions.term_list import TERMS
from tdo_plugin.modules.declared_options import options_of
from tdo_plugin.modules.losses import lexical_loss, linear_cross_entropy
from tdo_plugin.modules.spec import ModelSpec

WHOLE_LOGITS = "whole logits"  # --cross-entropy whole
# sizes, and what is no matter of devices
UNCOUNTED = {"init", "num_layers", "encoder_layers", "decoder_layers", "stage1_ffn_dim"}
UNCOUNTED |= {"stage2_ffn_dim", "model_dim", "num_heads", "dropout"}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Fewer tokens at a time than a batch has."""
    monkeypatch.setitem(linear_cross_entropy.ROWS, "cuda", (ROWS, ROWS // 2))
    monkeypatch.setattr(lexical_loss, "ROWS", ROWS)


@pytest.mark.parametrize("name", mostly_full(EVERY, quick=len(TRAININGS)))
def test_waits_only_where_it_is_known(name):
    update, validation, size = rehearse_training(*EVERY[name])
    assert not update.unknown() + validation.unknown()
    assert update.units["update"] == 1
    for found in (update, validation):
        # a search has a row of logits for each hypothesis
        if WHOLE_LOGITS not in name and not found.units["step"]:
            assert found.largest <= max(ROWS * VOCABULARY, size) < found.tokens * VOCABULARY


def test_every_choice_is_rehearsed():
    built = {name: made(*flags) for name, flags in METHODS.items()}
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
