"""Adapters, target-specific attention and FFN experts: trained, resumed, decoded by commands."""

import pytest
from support.data import BOTH_WAYS, CROSS_ENTROPY, ENCODER_DECODER, TAG, TASK, TDO, TRAIN
from support.trainings import found_by_both_searches, stopped_and_resumed

from tdo_compat.checkpoint import safe_load

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, "--disable-validation", *CROSS_ENTROPY)
PARTS = ("--tdo-adapter-dim", "5", "--tdo-target-attention", "all", "--tdo-ffn-experts", "target")
SYSTEMS = {"tdo_transformer": TDO, "tdo_encoder_decoder": (*TDO, *ENCODER_DECODER)}
GENERATE = ("--task", "tdo_translation", *TASK, *TAG, "--beam", "3", "--max-len-b", "8")
TRAINED = tuple(BOTH_WAYS.split(",")[0].split("-"))


@pytest.mark.parametrize("system", SYSTEMS)
def test_trained_resumed_and_decoded(system, tmp_path):
    """One direction is decoded by its own adapter, which is found by the checkpoint's pairs."""
    flags = (*BASE, *SYSTEMS[system], "--arch", system, *PARTS)
    stopped_and_resumed(tmp_path, *flags, stop=2, end=6)
    path = tmp_path / "parts" / "checkpoint_last.pt"
    tables = [
        tensor
        for name, tensor in safe_load(path)["model"].items()
        if "adapters." in name or tensor.dim() == 3
    ]
    for table in tables:
        assert len({tuple(row.flatten().tolist()) for row in table}) == len(table), "rows alike"
    source, target = TRAINED
    direction = ("-s", source, "-t", target, "--gen-subset", "test")
    assert found_by_both_searches(path, *GENERATE, *direction)
