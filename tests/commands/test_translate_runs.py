"""`tdo translate` as a run: what is kept, what a kill costs, what is refused."""

import fcntl
import io
import os
import signal
import sys
from pathlib import Path

import pytest
from support.covering import mostly_full
from support.fork_server import PYTHON
from support.prepared import TEST_SENTENCES, prepared, trained
from support.processes import until, wait_for_files
from support.translating import lines, started


def test_what_is_whole_is_kept_and_the_rest_done_again(translate, refused, everything, tmp_path):
    words = ("--path", trained(), "--out", tmp_path, "--workers", "1")
    translate(*words, "--pairs", "de-en,en-de")
    kept = (tmp_path / "en-de.hyp").stat().st_mtime_ns
    (tmp_path / "de-en.json").unlink()
    (tmp_path / "de-en.hyp").write_text("half of it")
    _, errors = translate(*words, "--pairs", "de-en,en-de", "--max-tokens", "500")
    assert "1 of 2 directions are already complete" in errors
    assert (tmp_path / "en-de.hyp").stat().st_mtime_ns == kept
    assert lines(tmp_path / "de-en.hyp") == lines(everything[0] / "de-en.hyp")
    other = (*words, "--pairs", "de-en", "--beam", "2")
    refused("translate", prepared().root, "--cpu", *other, names="different beam")
    translate(*other, "--max-len-b", "8", "--fresh")
    assert not list(tmp_path.glob("en-de.*"))


def test_a_killed_run_goes_on_where_it_was(translate, everything, tmp_path):
    words = ("--out", tmp_path, "--workers", "1", "--pairs", "de-en,en-de")
    process = started(*words)
    wait_for_files(process, tmp_path, "*-*.json")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    translate("--path", trained(), *words)
    for direction in ("de-en", "en-de"):
        assert lines(tmp_path / f"{direction}.hyp") == lines(everything[0] / f"{direction}.hyp")


# so long that a signal finds the run at work
LONG = ("--min-len", "150", "--pairs", "de-en,en-de,de-fr")


def workers_of(process):
    """Process ids of its workers, without the one that looks after spawned processes' resources."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    pids = [int(number) for number in path.read_text().split()]
    return [pid for pid in pids if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_that_dies_costs_its_direction(tmp_path):
    process = started("--out", tmp_path, "--workers", "1", *LONG, python=PYTHON)
    wait_for_files(process, tmp_path, "*-*.json")
    (worker,) = workers_of(process)
    os.kill(worker, signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    whole = {path.stem for path in tmp_path.glob("*-*.json")}
    assert process.returncode == 1
    assert "error: its worker ended with signal 9" in errors and "Traceback" not in errors
    assert len(whole) == 2


@pytest.mark.parametrize("number", mostly_full([signal.SIGTERM, signal.SIGINT]))
def test_a_run_that_is_ended_takes_its_workers_along(number, tmp_path):
    process = started("--out", tmp_path, "--workers", "1", *LONG, python=PYTHON)
    wait_for_files(process, tmp_path, "*-*.json")
    children = workers_of(process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    assert "Traceback" not in errors
    line = "tdo translate: ended by SIGTERM; run the same command again to continue\n"
    assert (line in errors) == (number == signal.SIGTERM)
    assert children and not any(Path(f"/proc/{pid}").exists() for pid in children)


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_of_a_killed_run_end_with_it(tmp_path):
    process = started("--out", tmp_path, "--workers", "2", "--min-len", "190", python=PYTHON)
    wait_for_files(process, tmp_path, "*-*.json")
    children = workers_of(process)
    process.kill()
    process.wait()
    until(lambda: not any(running(child) for child in children), 20)
    assert children


def running(number):
    """Whether there is such a process, and not only its exit code, which nobody asks for."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_folder_of_something_else_or_of_another_run_is_left_alone(refused, tmp_path):
    (tmp_path / "de-fr.hyp").write_text("mine\n")
    words = ("translate", prepared().root, "--cpu", "--path", trained(), "--out", tmp_path)
    refused(*words, "--fresh", names="another program")
    with (tmp_path / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        refused(*words, names="no other run is writing to")
    assert (tmp_path / "de-fr.hyp").read_text() == "mine\n"


def test_bad_input(refused, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    refused.rows(
        """
        translate {data} --cpu --path {model}               :: --out
        translate {data} --cpu --path {model} --out {out}
            --pairs en-xx                                   :: en-xx
            --pivot xx                                      :: --pivot
            --pivot-path x.pt                               :: --pivot
            --pivot en --pivot-path x.pt --perplexity       :: --perplexity
            --beam 0                                        :: --beam
            --workers 0                                     :: --workers
            -s de                                           :: --source-lang
            --path {data}/dict.txt                          :: dict.txt
            --sampling-topk 3                               :: --sampling-topk
            --min-len 300                                   :: --min-len
            --lenpen nan                                    :: --lenpen
            --seed -1                                       :: --seed
            --average best-2                                :: --average
            --out {data}/dict.txt                           :: --out
            --path ""                                       :: --path
        translate {data} --cpu --path {model} --input
            - -s de                                         :: --target-lang
            - -s de -t xx                                   :: xx
            - -s de -t fr --fresh                           :: --fresh
        """,
        data=prepared().root,
        model=trained(),
        out=tmp_path,
    )


def test_a_checkpoint_without_a_language_leaves_the_others(translate, tmp_path):
    path = trained("--langs", "en,de", "--lang-pairs", "en-de,de-en", "--max-update", "2")
    words = ("--path", path, "--pairs", "en-de,en-fr", "--max-len-b", "8", "--out", tmp_path)
    _, errors = translate(*words, code=1)
    why = "the checkpoint must know the languages of en-fr; it knows en, de, but not fr"
    assert f"en-fr: error: {why}" in errors
    assert len(lines(tmp_path / "en-de.hyp")) == TEST_SENTENCES
    assert not (tmp_path / "en-fr.hyp").exists()
