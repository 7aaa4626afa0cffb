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
LOST_LINE = "the rendezvous machine has ended, or does not answer: no bytes"
KILLED = "SIGKILL (a machine that is out of memory sends it) has ended the worker of rank 3"
LATE = "the machines cannot connect to each other: too late"


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (SignalException("told", signal.SIGTERM), 143, ""),
        (failure(143), 143, ""),
        (failure(1), 1, ""),
        (failure(-9), 137, KILLED),
        (LOST, 1, LOST_LINE),
        (RendezvousTimeoutError("too late"), 1, LATE),
    ],
)
def test_torchrun_ends_as_its_workers_do(error, code, line, capsys):
    def original(_):
        raise error

    with pytest.raises(SystemExit) as ended:
        distributed._run(original, [])
    assert ended.value.code == code
    assert capsys.readouterr().err == (f"error: {line}\n" if line else "")


@pytest.mark.parametrize(
    ("number", "codes", "code"),
    [
        (signal.SIGTERM, [], 143),  # before there were any
        (signal.SIGUSR1, [143, 143], 143),
        (signal.SIGTERM, [143, -9], 143),  # it was too slow for torchrun
        (signal.SIGTERM, [0, 143], 143),
        (signal.SIGTERM, [0, 0], 0),  # the training was done
        (signal.SIGTERM, [143, 1], 1),  # the checkpoint could not be written
        (signal.SIGINT, [1, 1], 130),
    ],
)
def test_torchrun_ends_after_a_signal_as_its_workers_have(number, codes, code):
    before = SubprocessContext.close, signal.getsignal(signal.SIGUSR1)
    with pytest.raises(SystemExit) as ended:
        distributed._run(closing(codes, SignalException("told", number)), [])
    assert ended.value.code == code
    assert (SubprocessContext.close, signal.getsignal(signal.SIGUSR1)) == before


@pytest.mark.parametrize(
    ("codes", "code", "said"),
    [
        ([143, 143], 143, f"{LOST_LINE}\n"),  # a checkpoint is written
        ([0, 0], 0, ""),
        ([143, 1], 1, f"error: {LOST_LINE}\n"),
        # torchrun's own signal, too early for them to save anything
        ([-15, -15], 1, f"error: {LOST_LINE}\n"),
        ([], 1, f"error: {LOST_LINE}\n"),
    ],
)
def test_torchrun_that_lost_the_others_ends_as_its_workers_have(codes, code, said, capsys):
    with pytest.raises(SystemExit) as ended:
        distributed._run(closing(codes, LOST), [])
    assert ended.value.code == code
    assert capsys.readouterr().err == said


def closing(codes: list[int], error: Exception) -> Callable[[object], None]:
    """A torchrun that fails once its workers have ended, with these exit codes."""

    def original(_: object) -> None:
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
