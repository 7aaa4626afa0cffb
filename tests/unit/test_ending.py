"""What is a lack of memory; processes that load data stay until their trainer ends them."""

import os
import signal

import pytest
import torch
from torch.utils.data._utils import signal_handling

from tdo_plugin_ending import SIGNALS, _shape, obedient_loader


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_to_a_process_that_only_begins_to_load_data(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes when torch has just set its own handlers, before it calls anything of ours."""
    original = signal_handling._set_worker_signal_handlers

    def told() -> None:
        original()
        os.kill(os.getpid(), number)

    monkeypatch.setattr(signal_handling, "_set_worker_signal_handlers", told)
    loader = obedient_loader(torch.utils.data.DataLoader)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    found = list(loader([1, 2, 3], num_workers=1, multiprocessing_context="fork", timeout=60))
    assert [int(one) for one in found] == [1, 2, 3]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


SOURCE, TARGET = torch.zeros(3, 7), torch.zeros(3, 5)


@pytest.mark.parametrize(
    ("batch", "shape"),
    [
        (
            {"net_input": {"src_tokens": SOURCE}, "target": TARGET},
            "3 sentences x 7 source tokens x 5 target tokens",
        ),
        # fairseq's other tasks: a class of each sentence, speech, no target
        (
            {"net_input": {"src_tokens": SOURCE}, "target": torch.zeros(3)},
            "3 sentences x 7 source tokens",
        ),
        ({"net_input": {"source": SOURCE}, "target": TARGET}, "3 sentences x 5 target tokens"),
        ({"net_input": {"source": SOURCE}, "target": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_size_of_a_batch_is_said_of_all_tasks(batch: object, shape: str | None) -> None:
    assert _shape(batch) == shape
