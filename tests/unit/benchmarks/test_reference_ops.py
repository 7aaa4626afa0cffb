"""The models with some operations as a textbook has them, by an option."""

import pytest
from speed import reference_ops
from support.data import TAG, TASK, TDO, TRAIN, built

from tdo_plugin.errors import UserError

WORDS = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO, "--arch", "reference_transformer")


def test_operations_are_chosen_by_name():
    _, model, _ = built(*WORDS, "--reference-ops", "masks,streams")
    assert model.core.ops == {"masks", "streams"}
    _, model, _ = built(*WORDS, "--reference-ops", "all")
    assert model.core.ops == {*reference_ops.OPS}
    _, model, _ = built(*WORDS)
    assert model.core.ops == frozenset()


def test_an_unknown_operation_is_refused():
    with pytest.raises(UserError, match=r"`--reference-ops` must be among .*; it has spam"):
        built(*WORDS, "--reference-ops", "masks,spam")
