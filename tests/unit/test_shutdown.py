"""What is a lack of memory; processes that load data stay until their trainer ends them."""

import gc
import os
import signal
from itertools import islice
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch
from torch.utils.data._utils import signal_handling

from tdo_compat.loading import obedient_loader
from tdo_compat.shutdown import SIGNALS, _shape


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
    items = list(loader([1, 2, 3], num_workers=1, multiprocessing_context="fork", timeout=60))
    assert [int(item) for item in items] == [1, 2, 3]
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


@pytest.mark.parametrize("taken", [3, 4], ids=["counted", "to their end"])
@pytest.mark.parametrize("outlives", [False, True])
def test_a_loader_that_is_garbage_is_not_waited_for(
    outlives: bool, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch asks its processes to end, waits for so many seconds, and then ends them by force."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 20.0)
    forced, terminate = [], BaseProcess.terminate

    def by_force(process: BaseProcess) -> None:
        forced.append(process)
        terminate(process)

    monkeypatch.setattr(BaseProcess, "terminate", by_force)
    loader = obedient_loader(torch.utils.data.DataLoader)
    options = {"num_workers": 1, "multiprocessing_context": "fork", "persistent_workers": outlives}
    epoch = {"loader": loader([1, 2, 3], **options)}
    epoch["batches"], epoch["self"] = iter(epoch["loader"]), epoch
    assert [int(batch) for batch in islice(epoch["batches"], taken)] == [1, 2, 3]
    del epoch
    gc.collect()
    assert not forced


class Inherited:
    """Says when it goes, and in which process."""

    def __init__(self, log: Path) -> None:
        self.told, self.itself = log, self  # a cycle, which only the collector finds

    def __del__(self) -> None:
        with self.told.open("a") as file:
            print(os.getpid(), file=file)


class Collecting(torch.utils.data.Dataset[bool]):
    """Items that are read while the collector runs; they say whether it runs by itself."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> bool:
        gc.collect()
        return gc.isenabled()


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_of_the_trainer_is_left_to_the_trainer(collects: bool, tmp_path: Path) -> None:
    """On a GPU it has pinned batches in it, which abort a forked process that frees them."""
    log = tmp_path / "told"
    loader = obedient_loader(torch.utils.data.DataLoader)
    epoch = loader(Collecting(), num_workers=1, multiprocessing_context="fork", timeout=60)
    gc.collect()
    gc.disable()
    try:
        Inherited(log)
        if collects:
            gc.enable()
        assert not log.exists()  # what the parent has collected itself would test nothing
        assert all(map(bool, epoch))
        assert gc.isenabled() == collects
    finally:
        gc.enable()
    gc.collect()
    assert log.read_text().split() == [str(os.getpid())]


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
