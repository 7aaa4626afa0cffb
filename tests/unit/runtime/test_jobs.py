"""Jobs in processes of their own."""

import errno
import math
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from support.processes import until

from tdo_plugin.errors import UserError
from tdo_plugin.runtime.jobs import map_in_order, map_spawned, run_jobs

LONG_AFTER = 1000  # seconds, of a job that must be ended: a test that waited for it would fail


def test_results_come_with_their_keys_from_so_many_processes_at_a_time(tmp_path):
    def job(number: int) -> tuple[int, int]:
        mark = tmp_path / f"{number}"
        mark.touch()
        if number == 0:
            until(lambda: (tmp_path / "1").exists())
        if number == 1:
            until(lambda: not (tmp_path / "0").exists())
        together = len(list(tmp_path.iterdir()))
        mark.unlink()
        return number**2, together

    results = dict(run_jobs(((n, partial(job, n)) for n in range(6)), 2))
    assert {n: square for n, (square, _) in results.items()} == {n: n**2 for n in range(6)}
    assert max(together for _, together in results.values()) == 2


def test_a_jobs_error_is_raised_and_stops_the_others(tmp_path):
    def fail():
        raise UserError("`text` must be text; it is not")

    def late():
        time.sleep(LONG_AFTER)
        (tmp_path / "late").touch()

    def has_processes_of_its_own():
        for done, _ in enumerate(map_in_order(lambda n: n > 1 and late(), range(9), 3)):
            if done:
                fail()

    for jobs in ([("late", late), ("bad", fail)], [("a", has_processes_of_its_own)]):
        with pytest.raises(UserError, match="`text` must be text; it is not"):
            list(run_jobs(jobs, 2))
    assert not list(tmp_path.iterdir())


def test_a_process_that_was_killed_is_one_line(refused):
    def killed(number):
        if number:
            os.kill(os.getpid(), signal.SIGKILL)

    for by, results in (
        ("a job", run_jobs([("a", partial(killed, 1))], 1)),
        ("one for an item", map_in_order(killed, range(9), 3)),
        ("one that was spawned", map_spawned(os._exit, [3, 3], 2, math.sqrt, 1)),
    ):
        with refused.raised(by, names="out of memory"):
            list(results)


def test_a_full_disk_stays_an_error_that_is_shown_as_one_line():
    def write() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "pieces")

    with pytest.raises(OSError, match="No space left on device: 'pieces'") as error:
        list(run_jobs([("a", write)], 1))
    assert error.value.errno == errno.ENOSPC


def test_results_come_in_the_order_of_their_items(tmp_path):
    def square(number: int) -> tuple[int, int]:
        while number == 1 and not (tmp_path / "2").exists():  # the second ends before the first
            time.sleep(0.01)
        if number:
            (tmp_path / f"{number}").touch()
        return number**2, os.getpid()

    squares, processes = zip(*map_in_order(square, range(6), 2), strict=True)
    assert squares == (0, 1, 4, 9, 16, 25)
    assert processes[0] == os.getpid() and len(set(processes)) == 6
    assert list(map_in_order(square, [], 2)) == []


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_items_are_not_taken_far_ahead(workers):
    taken = []
    items = (taken.append(number) or number for number in range(20))
    for index, number in enumerate(map_in_order(abs, items, workers)):
        assert index == number and len(taken) - index <= workers
    pids = map_in_order(lambda _: os.getpid(), range(3), workers)
    assert (workers == 1) == ({*pids} == {os.getpid()})  # one worker is this process


LONG = """
import os, sys, time
from pathlib import Path
from tdo_plugin.runtime.jobs import map_in_order, map_spawned, run_jobs

def work(number):
    if number:
        Path(sys.argv[1]).write_text(str(os.getpid()))
        time.sleep(60)

def job():
    list(map_in_order(work, range(sys.argv[2] == "alone", 2), 2))

list(run_jobs([(1, job)], 1))
"""


@pytest.mark.parametrize("whose", ["alone", "of a job"])
def test_jobs_end_with_a_parent_that_is_killed(tmp_path, whose):
    mark = tmp_path / "mark"
    parent = subprocess.Popen([sys.executable, "-c", LONG, str(mark), whose])
    until(lambda: mark.exists() and mark.read_text())
    parent.kill()
    parent.wait()
    child = int(mark.read_text())
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the job outlived its parent")


@pytest.mark.parametrize("workers", [1, 3])
def test_spawned_processes_do_several_each(workers):
    assert [*map_spawned(math.sqrt, [16, 4, 9, 1], workers, math.sqrt, 1)] == [4, 2, 3, 1]
    assert [*map_spawned(math.sqrt, [], workers, math.sqrt, 1)] == []


def test_errors_of_spawned_processes(capfd):
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        [*map_spawned(math.sqrt, [4, -1, 9], 2, math.sqrt, 1)]
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        [*map_spawned(math.sqrt, [4], 1, math.sqrt, -1)]
    assert "Traceback" in capfd.readouterr().err


FORKED_SLOWLY = """
import os, sys, time
from tdo_plugin.runtime.processes import start
from tdo_plugin.runtime.signals import ended_by_signal

with ended_by_signal("test"):
    os.register_at_fork(after_in_child=lambda: (open(sys.argv[1], "w").close(), time.sleep(1)))
    connection, process = start(lambda connection: time.sleep(60), method="fork")
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    process.terminate()
    process.join()
    print(process.exitcode)
"""


def test_a_process_that_is_ended_in_the_middle_of_its_fork_ends_silently(tmp_path):
    words = [sys.executable, "-c", FORKED_SLOWLY, str(tmp_path / "forked")]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == (f"-{signal.SIGTERM.value}\n", "")
