"""Failures of other workers, signals to what started them, and what torchrun says at the end."""

import datetime
import multiprocessing
import os
import signal
import threading
from argparse import Namespace
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.api import SubprocessContext
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.elastic.rendezvous import RendezvousConnectionError, RendezvousTimeoutError

from tdo_compat import distributed


def test_a_wait_for_a_key_does_not_hide_anothers_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch holds a store's connection for as long as a key is waited for."""
    kept = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    mine = torch.distributed.TCPStore("127.0.0.1", kept.port, is_master=False)
    mine.set_timeout(datetime.timedelta(seconds=60))
    finished = threading.Event()

    def leave(why: str | None) -> None:
        finished.set()
        kept.set("left", str(why))

    monkeypatch.setattr(distributed, "_store", lambda: mine)
    monkeypatch.setattr(distributed, "_leave", leave)
    monkeypatch.setattr(distributed, "EVERY", 0.3)
    monkeypatch.setenv("GROUP_RANK", "1")
    monkeypatch.setenv("LOCAL_RANK", "0")
    watch = (distributed._own_store(), os.getppid(), finished)
    thread = threading.Thread(target=distributed._watch, args=watch)
    thread.start()
    fails = threading.Timer(1, kept.set, (distributed.WHY, "0 0 no luck"))
    fails.start()
    try:
        assert mine.get("left") == b"no luck"
    finally:
        finished.set()
        thread.join()


def test_a_shell_may_end_before_its_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not so torchrun, nor a process that spawned workers."""
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert distributed._launcher() is None
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "tdo")
    assert distributed._launcher() == os.getppid()
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    monkeypatch.setattr(multiprocessing, "parent_process", object)
    assert distributed._launcher() == os.getppid()


def failure(exitcode: int) -> ChildFailedError:
    return ChildFailedError("train", {3: ProcessFailure(0, 1, exitcode, "/nowhere")})


LOST = RendezvousConnectionError("The connection has failed. See inner exception for details.")
LOST.__cause__ = RuntimeError("no bytes\nframe #0")
LOST_LINE = "the rendezvous machine has ended, or does not answer: no bytes\n"
KILLED = "SIGKILL (a machine that is out of memory sends it) has ended the worker of rank 3\n"
LATE = "the machines cannot connect to each other: too late\n"
TERM, USR1, INTERRUPT = (
    SignalException("told", number) for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)
)


@pytest.mark.parametrize(
    ("codes", "error", "code", "said"),
    [
        (None, TERM, 143, ""),
        (None, failure(143), 143, ""),
        (None, failure(1), 1, ""),
        (None, failure(-9), 137, f"error: {KILLED}"),
        (None, LOST, 1, f"error: {LOST_LINE}"),
        (None, RendezvousTimeoutError("too late"), 1, f"error: {LATE}"),
        ([], TERM, 143, ""),  # before there were any
        ([143, 143], USR1, 143, ""),
        ([143, -9], TERM, 143, ""),  # it was too slow for torchrun
        ([0, 143], TERM, 143, ""),
        ([0, 0], TERM, 0, ""),  # the training was done
        ([143, 1], TERM, 1, ""),  # the checkpoint could not be written
        ([1, 1], INTERRUPT, 130, ""),
        ([143, 143], LOST, 143, LOST_LINE),  # a checkpoint is written
        ([0, 0], LOST, 0, ""),
        ([143, 1], LOST, 1, f"error: {LOST_LINE}"),
        # torchrun's own signal, too early for them to save anything
        ([-15, -15], LOST, 1, f"error: {LOST_LINE}"),
        ([], LOST, 1, f"error: {LOST_LINE}"),
    ],
)
def test_torchrun_ends_as_its_workers_do(codes, error, code, said, capsys):
    before = SubprocessContext.close, signal.getsignal(signal.SIGUSR1)
    with pytest.raises(SystemExit) as ended:
        distributed._run(closing(codes, error), [])
    assert (ended.value.code, capsys.readouterr().err) == (code, said)
    assert (SubprocessContext.close, signal.getsignal(signal.SIGUSR1)) == before


def closing(codes: list[int] | None, error: Exception) -> Callable[[object], None]:
    """A torchrun that fails, if codes are given once its workers have ended with them."""

    def original(_: object) -> None:
        if codes is None:
            raise error
        context = SubprocessContext.__new__(SubprocessContext)
        context._close, context._tail_logs = lambda **_: None, []
        context.filtered_stdout = context.filtered_stderr = None
        processes = (SimpleNamespace(proc=SimpleNamespace(returncode=code)) for code in codes)
        context.subprocess_handlers = dict(enumerate(processes))
        context.close()
        raise error

    return original


@pytest.mark.parametrize(
    ("words", "lacks"),
    [
        ("fairseq-train data --cpu", True),
        ("fairseq-train data --cpu --distributed-backend nccl", True),
        ("fairseq-train data --cpu --distributed-backend gloo", False),
        ("fairseq-train data --cpu --distributed-backend=gloo", False),
        ("fairseq-train data", False),
    ],
)
def test_torchrun_says_once_what_all_workers_lack(words, lacks, capsys):
    begun = []
    module = SimpleNamespace(main=begun.append)
    distributed.end_like_workers(module)
    if not lacks:
        module.main(words.split())
        assert begun == [words.split()]
        return
    with pytest.raises(SystemExit) as ended:
        module.main(words.split())
    assert ended.value.code == 1 and not begun
    assert capsys.readouterr().err == (
        "error: `--distributed-backend` must be gloo for several workers without GPUs; it is nccl\n"
    )


def test_a_worker_says_it_too(refused):
    begun = []
    module = SimpleNamespace(distributed_init=begun.append, distributed_main=None)
    distributed.end_together(module)
    training, common = Namespace(distributed_backend="nccl"), Namespace(cpu=True, tpu=False)
    with refused.raised("nccl without GPUs", names="--distributed-backend"):
        module.distributed_init(Namespace(distributed_training=training, common=common))
    assert not begun
