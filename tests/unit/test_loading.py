"""What loads batches ends with its reader, stays until then, and begins with little memory."""

import ctypes
import gc
import multiprocessing
import os
import platform
import signal
import sys
import threading
import time
from itertools import islice
from multiprocessing.process import BaseProcess

import psutil
import pytest
import torch
from fairseq.data import iterators
from fairseq.data.iterators import BackgroundConsumer
from support.processes import until
from torch.utils.data._utils import signal_handling

from tdo_compat import loading
from tdo_compat.loading import obedient_loader, trim_heap
from tdo_compat.shutdown import SIGNALS

COUNT = 30  # batches, many more than are loaded ahead


class Squares(torch.utils.data.Dataset[int]):
    def __getitem__(self, index):
        return index * index


def epochs(buffer_size, count=COUNT, workers=1):
    """What makes an iterator for each epoch of fairseq's, here of batches of one square."""
    batches = [[number] for number in range(count)]
    options = {"num_workers": workers, "buffer_size": buffer_size}
    return iterators.EpochBatchIterator(Squares(), _only, batches, **options)


def _only(numbers):
    (number,) = numbers
    return number


def validated(epoch_batches):
    return epoch_batches.next_epoch_itr(shuffle=False, set_dataset_epoch=False)


@pytest.fixture
def begun():
    """Tells how many threads and processes of the test load batches.

    Only counts of references free objects meanwhile. Processes that a test leaves are ended, as
    they hold files open that others wait to see closed.
    """

    def running():
        threads = (one for one in threading.enumerate() if isinstance(one, BackgroundConsumer))
        return {*threads}, {*multiprocessing.active_children()}

    collects, before = gc.isenabled(), running()
    gc.disable()
    try:
        yield lambda: tuple(len(now - then) for now, then in zip(running(), before, strict=True))
    finally:
        if collects:
            gc.enable()
        for process in running()[1] - before[1]:
            process.terminate()


@pytest.mark.parametrize("buffer_size", [0, 1, 10])
@pytest.mark.parametrize("read", [0, 1, COUNT - 1, COUNT])
def test_a_validation_leaves_neither_thread_nor_process(read, buffer_size, begun):
    """Also if it does not read its batches to their end, and the set's own iterator stays."""
    epoch_batches = epochs(buffer_size)
    for _ in range(2):
        batches = validated(epoch_batches)
        assert list(islice(batches, read)) == [n * n for n in range(read)]
        del batches
        assert begun() == (0, 0)


@pytest.mark.parametrize("read", [1, COUNT])
def test_freed_memory_is_returned_after_a_validation_only(read, monkeypatch):
    returned: list[bool] = []
    monkeypatch.setattr(loading, "trim_heap", lambda: returned.append(True))
    for batches in (
        epochs(0, workers=0).next_epoch_itr(shuffle=False),
        validated(epochs(0, workers=0)),
    ):
        assert list(islice(batches, read)) and not returned
    del batches
    assert returned == [True]


@pytest.mark.parametrize("buffer_size", [0, 10])
def test_one_set_is_loaded_at_a_time_in_validation(buffer_size, begun):
    every_set = [epochs(buffer_size) for _ in range(3)]
    for epoch_batches in every_set:
        batches = validated(epoch_batches)  # which lets the last set's go
        assert next(batches) == 0
        assert begun() == (buffer_size > 0, 1)


def test_a_validation_leaves_alone_what_loads_for_the_training(begun):
    batches = epochs(buffer_size=2).next_epoch_itr(shuffle=False)
    assert next(batches) == 0
    assert next(validated(epochs(buffer_size=2))) == 0
    assert begun() == (1, 1)
    assert list(batches) == [n * n for n in range(1, COUNT)]
    assert begun()[1] == 0


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("buffer_size", [0, 2])
@pytest.mark.usefixtures("begun")
def test_a_training_knows_how_far_it_has_come(buffer_size, workers):
    """Whoever reads its batches; it is asked later, and checkpoints keep it."""
    trained = epochs(buffer_size, count=4, workers=workers)
    for epoch in (1, 2):
        batches = trained.next_epoch_itr(shuffle=False)
        for read in range(1, 5):
            assert next(batches) == (read - 1) ** 2
            assert trained.iterations_in_epoch == read
            assert trained.end_of_epoch() == (read == 4)
            place = (epoch, read) if read < 4 else (epoch + 1, 0)
            state = trained.state_dict()
            assert (state["epoch"], state["iterations_in_epoch"]) == place
            assert trained.next_epoch_idx == place[0]
        del batches
        assert trained.end_of_epoch()


@pytest.mark.parametrize("buffer_size", [0, 2])
@pytest.mark.usefixtures("begun")
def test_a_training_goes_on_from_its_state(buffer_size):
    trained = epochs(buffer_size)
    batches = trained.next_epoch_itr(shuffle=True)
    assert len(list(islice(batches, 11))) == 11
    resumed = epochs(buffer_size)
    resumed.load_state_dict(trained.state_dict())
    assert resumed.iterations_in_epoch == 11 and resumed.next_epoch_idx == 1
    assert list(resumed.next_epoch_itr(shuffle=True)) == list(batches)
    assert resumed.state_dict() == trained.state_dict()


class Numbers:
    """Numbers that say which of them were asked for; behind each something may be done."""

    def __init__(self, then=lambda: None):
        self.asked, self.then = [], then

    def __len__(self):
        return 100

    def __iter__(self):
        for number in range(100):
            self.asked.append(number)
            yield number
            self.then()


def test_a_thread_that_collects_its_own_buffer_ends(begun, monkeypatch):
    errors, readers, read = [], [], threading.Event()
    monkeypatch.setattr(sys, "unraisablehook", errors.append)
    numbers = Numbers(lambda: read.wait(60) and readers.clear())
    readers.append(iterators.BufferedIterator(2, numbers))
    assert next(readers[0]) == 0
    read.set()
    until(lambda: begun() == (0, 0), 10)
    assert not errors
    assert len(numbers.asked) <= 3


def test_a_thread_that_collects_while_it_hands_over_ends(begun):
    """It holds the lock of its queue then."""
    readers = [iterators.BufferedIterator(2, Numbers())]
    queue = readers[0]._queue
    put = queue._put

    def collecting(item):
        put(item)
        if item == 2:
            readers.clear()

    queue._put = collecting
    assert next(readers[0]) == 0
    until(lambda: begun() == (0, 0), 10)


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("read", [0, 1, 5, 100])
def test_a_thread_ends_with_the_buffer_that_it_fills(read, waits, begun):
    """It loads nothing more: two are in the buffer, and one is waiting for its place."""
    numbers = Numbers()
    buffer = iterators.BufferedIterator(2, numbers)
    assert list(islice(buffer, read)) == list(range(read))
    if waits:
        until(lambda: read in (0, 100) or len(numbers.asked) == read + 3)
        time.sleep(0.05)
    assert read == 100 or begun() == (read > 0, 0)
    del buffer
    assert begun() == (0, 0)
    assert read <= len(numbers.asked) <= read + 3


@pytest.mark.parametrize("workers", [0, 1])
def test_freed_memory_is_returned_before_processes_inherit_it(workers, begun, monkeypatch):
    returned: list[int] = []
    monkeypatch.setattr(loading, "trim_heap", lambda: returned.append(begun()[1]))
    loader = obedient_loader(torch.utils.data.DataLoader)
    options = {"multiprocessing_context": "fork", "timeout": 60} if workers else {}
    assert len(list(loader([1, 2, 3], num_workers=workers, **options))) == 3
    assert returned == [0] * workers


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_memory_that_the_c_library_keeps_is_returned():
    """It lies below a block that is in use, without which the library would return it itself."""
    process, block = psutil.Process(), 1 << 16
    blocks = [b"x" * block for _ in range(1000)]
    blocks[:-1] = []
    before = process.memory_info().rss
    trim_heap()
    assert before - process.memory_info().rss > 800 * block


def test_a_c_library_that_cannot_return_memory_keeps_it(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    trim_heap()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_to_a_process_that_only_begins_to_load_data(number, monkeypatch):
    """It comes when torch has just set its own handlers, before it calls anything of ours."""
    original = signal_handling._set_worker_signal_handlers

    def told():
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
def test_a_loader_that_is_garbage_is_not_waited_for(outlives, taken, monkeypatch):
    """torch asks its processes to end, waits for so many seconds, and then ends them by force."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 20.0)
    forced, terminate = [], BaseProcess.terminate
    monkeypatch.setattr(BaseProcess, "terminate", lambda it: forced.append(it) or terminate(it))
    loader = obedient_loader(torch.utils.data.DataLoader)
    options = {"num_workers": 1, "multiprocessing_context": "fork", "persistent_workers": outlives}
    epoch = {"loader": loader([1, 2, 3], **options)}
    epoch["batches"], epoch["self"] = iter(epoch["loader"]), epoch
    assert [int(batch) for batch in islice(epoch["batches"], taken)] == [1, 2, 3]
    del epoch
    gc.collect()
    assert not forced


class Inherited:
    """Says in which process it goes."""

    def __init__(self, log):
        self.told, self.itself = log, self  # a cycle, which only the collector finds

    def __del__(self):
        with self.told.open("a") as file:
            print(os.getpid(), file=file)


class Collecting(torch.utils.data.Dataset):
    """Items that are read while the collector runs; they say whether it runs by itself."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        gc.collect()
        return gc.isenabled()


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_of_the_trainer_is_left_to_the_trainer(collects, tmp_path):
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
