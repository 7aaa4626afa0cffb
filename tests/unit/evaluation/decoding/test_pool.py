"""How a worker takes the end of its parent; the model and the job are stand-ins."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tdo_plugin.evaluation.decoding.pool import _Pool, _receive
from tdo_plugin.evaluation.decoding.worker import serve
from tdo_plugin.runtime.processes import start


@pytest.fixture(autouse=True)
def handlers():
    """A worker's handlers of signals are not the tests'."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Job:
    """Says that a sentence is done, and does what it is told before and after that."""

    def __init__(self, before: Callable[[], None], after: Callable[[], None]) -> None:
        self.before, self.after = before, after

    def perform(self, loaded: object, data: object, out: object, progress: Any) -> None:
        self.before()
        progress(1)
        self.after()


class Ending:
    """A worker's end of a connection whose other end goes at a given moment."""

    def __init__(self, moment: str) -> None:
        self.parent, self.own = multiprocessing.Pipe()
        self.moment, self.sent, self.received = moment, [], 0

    def closes(self, moment: str) -> None:
        if moment == self.moment:
            self.parent.close()

    def send(self, what: Any) -> None:
        self.own.send(what)
        self.sent.append(what[0])

    def recv(self) -> Job:
        self.received += 1
        if self.received == 1:
            return Job(lambda: self.closes("a job begins"), lambda: self.closes("a job ends"))
        if self.moment == "all is read":
            while self.parent.poll():
                self.parent.recv()
            self.parent.close()
        self.closes("words are unread")
        return self.own.recv()


@pytest.mark.parametrize(
    ("moment", "sent"),
    [
        ("the model loads", []),
        ("a job begins", ["ready"]),
        ("a job ends", ["ready", "sentences"]),
        ("words are unread", ["ready", "sentences", "done"]),
        ("all is read", ["ready", "sentences", "done"]),
    ],
)
def test_a_parent_that_is_gone_ends_a_worker_without_a_word(capfd, moment, sent):
    connection = Ending(moment)

    def load(device: str) -> object:
        connection.closes("the model loads")
        return object()

    serve(connection, SimpleNamespace(load=load, checkpoints=(), data=None, out=Path()), "cpu")
    assert connection.sent == sent and not any(capfd.readouterr())


@pytest.mark.parametrize("moment", ["the model loads", ""])
def test_a_model_that_does_not_load_is_told_to_whom_is_there(capfd, moment):
    connection = Ending(moment)

    def load(device: str) -> object:
        connection.closes("the model loads")
        raise ValueError("no model")

    serve(connection, SimpleNamespace(load=load, checkpoints=()), "cpu")
    assert connection.sent == ([] if moment else ["unusable"])
    assert "ValueError: no model" in capfd.readouterr().err


def test_all_workers_are_asked_to_end_before_any_is_waited_for():
    calls: list[str] = []

    def worker(name: str) -> Any:
        return SimpleNamespace(
            stop=lambda: calls.append(f"stop {name}"), wait=lambda: calls.append(f"wait for {name}")
        )

    pool = _Pool(SimpleNamespace(), [], {})
    pool.workers = [worker("one"), worker("two")]
    pool.end()
    assert calls == ["stop one", "stop two", "wait for one", "wait for two"]


def die(connection: Any) -> None:
    connection.recv()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_costs_its_job_and_leaves_its_device():
    connection, process = start(die, method="fork")
    worker: Any = SimpleNamespace(
        job="de-fr", connection=connection, process=process, device="cuda:1", stop=lambda: None
    )
    worker.wait = process.join
    pool = _Pool(SimpleNamespace(), ["cuda:0"], {})
    pool.workers = [worker]
    connection.send("begin")
    event = _receive(pool, worker)
    assert (event.kind, event.job) == ("failed", "de-fr")
    assert event.text == "its worker ended with signal 9; out of memory?"
    assert not pool.workers and [*pool._free] == ["cuda:0", "cuda:1"]
