"""The rate of a client, and the queue in front of the models."""

import threading

import pytest

from tdo_plugin.serve.model_worker import BusyError, GivenUpError, ModelWorker
from tdo_plugin.serve.request_guard import Hosts
from tdo_plugin.serve.request_limits import CLIENTS, Limits, RateLimiter, client_of


def test_a_bucket_for_each_client():
    now = [0.0]
    rates = RateLimiter(60, lambda: now[0])
    assert [rates.wait("a") for _ in range(60)] == [0.0] * 60
    assert rates.wait("a") == pytest.approx(1.0)
    assert rates.wait("b") == 0.0
    now[0] = 1.5
    assert rates.wait("a") == 0.0 and rates.wait("a") == pytest.approx(0.5)
    now[0] = 1e6  # no more than a minute's requests come together
    assert [rates.wait("a") for _ in range(61)].count(0.0) == 60


def test_clients_are_forgotten_except_who_has_spent_most():
    rates = RateLimiter(10, lambda: 0.0)
    rates.charge("spent", 30)
    for number in range(2 * CLIENTS):
        rates.wait(str(number))
    assert len(rates._buckets) == CLIENTS
    assert rates.wait("spent") == pytest.approx(21 * 6)
    spends_alone = [rates.wait("new") for _ in range(11)]
    assert spends_alone.count(0.0) == 10


def test_whom_an_address_belongs_to():
    clients = {
        "192.0.2.7": "192.0.2.7",
        "::ffff:192.0.2.7": "192.0.2.7",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "fe80::1%eth0": "fe80::/64",
        "unknown": "unknown",
        "x" * 1000: "x" * 64,
    }
    assert {address: client_of(address) for address in clients} == clients


def test_limits_are_at_least_one(refused):
    with refused.raised("a rate of 0", names="--max-rate"):
        Limits(rate=0).check()


@pytest.fixture
def held():
    """A worker, the job that it runs, and what ends that."""
    worker, release, running = ModelWorker(2), threading.Event(), threading.Event()
    first = worker.submit(lambda _: (running.set(), release.wait(30)))
    assert running.wait(30)
    yield worker, first, release
    release.set()
    worker.close(30)


def test_jobs_run_one_after_the_other_and_a_full_queue_says_when(held):
    worker, first, release = held
    second = worker.submit(lambda _: first.done())
    dropped = worker.submit(lambda _: 1 / 0)
    with pytest.raises(BusyError) as busy:
        worker.submit(lambda _: None)
    assert busy.value.seconds >= 1
    assert dropped.cancel()
    release.set()
    assert second.result(30)
    with pytest.raises(ZeroDivisionError):
        worker.submit(lambda _: 1 / 0).result(30)
    assert worker.submit(lambda _: 7).result(30) == 7


def test_an_ended_worker_takes_nothing(held):
    worker, first, release = held
    waiting = worker.submit(lambda _: None)
    threading.Timer(0.05, release.set).start()
    assert worker.close(30)
    assert first.done() and waiting.cancelled()
    with pytest.raises(BusyError):
        worker.submit(lambda _: None)


def test_a_running_job_is_given_up():
    worker, running, release = ModelWorker(2), threading.Event(), threading.Event()

    def steps(progress):
        running.set()
        while not release.wait(0.001):
            progress(1)

    first = worker.submit(steps)
    assert running.wait(30)
    first.give_up()
    assert isinstance(first.exception(30), GivenUpError)
    running.clear()
    second = worker.submit(steps)
    assert running.wait(30) and worker.close(30)
    assert isinstance(second.exception(30), GivenUpError)


def test_a_job_that_does_not_end(held):
    worker, _, release = held
    assert not worker.close(0.01)
    release.set()
    assert worker.close(30)


def test_names_of_this_machine_and_others():
    own = ("localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]:9", "127.1.2.3")
    assert all(map(Hosts().include, own))
    others = ("", "evil.example", "localhost.evil.example:80", "127.0.0.1.nip.io", "192.168.0.7")
    assert not any(map(Hosts().include, (*others, "[::]x")))
    network = Hosts(frozenset(["gpu1"]), loopback=False)
    named = ("gpu1:8000", "GPU1", "192.168.0.7:8000", "127.0.0.1", "[::1]:1")
    assert all(map(network.include, named))
    assert not network.include("evil.example") and not network.include("localhost")
