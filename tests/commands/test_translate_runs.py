"""`tdo translate` as a run: what is kept, what a kill costs, what is refused."""

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


def test_what_is_whole_is_kept_and_what_is_not_is_done_again(translate, everything, tmp_path):
    words = ("--path", trained(), "--out", tmp_path, "--workers", "1")
    translate(*words, "--pairs", "de-en,en-de")
    kept = (tmp_path / "en-de.hyp").stat().st_mtime_ns
    (tmp_path / "de-en.json").unlink()
    (tmp_path / "de-en.hyp").write_text("half of it")
    _, errors = translate(*words, "--pairs", "de-en,en-de", "--max-tokens", "500")
    assert "1 of 2 directions are already complete" in errors
    assert (tmp_path / "en-de.hyp").stat().st_mtime_ns == kept
    assert lines(tmp_path / "de-en.hyp") == lines(everything[0] / "de-en.hyp")
    _, errors = translate(*words, "--pairs", "de-en", "--beam", "2", code=2)
    assert "was made with different beam" in errors
    translate(*words, "--pairs", "de-en", "--beam", "2", "--fresh")
    assert not list(tmp_path.glob("en-de.*"))


def test_a_killed_run_goes_on_where_it_was(translate, everything, tmp_path):
    words = ("--out", tmp_path, "--workers", "1")
    process = started(*words)
    wait_for_files(process, tmp_path, "*-*.json")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    translate("--path", trained(), *words)
    for direction in prepared().test_directions:
        assert lines(tmp_path / f"{direction}.hyp") == lines(everything[0] / f"{direction}.hyp")


LONG = ("--min-len", "150")  # so that a signal finds the run at work


def workers_of(process):
    """Process ids of its workers, without the one that looks after spawned processes' resources."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    pids = [int(number) for number in path.read_text().split()]
    return [pid for pid in pids if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text()]


@pytest.mark.long
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
    assert len(whole) == len(prepared().test_directions) - 1


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


def test_a_folder_of_something_else_is_left_alone(translate, tmp_path):
    (tmp_path / "de-fr.hyp").write_text("mine\n")
    _, errors = translate("--path", trained(), "--out", tmp_path, "--fresh", code=2)
    assert "has hypotheses from another program" in errors
    assert (tmp_path / "de-fr.hyp").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "OUT", "--path", "no.pt"], "`--path` must name checkpoints that exist"),
        (["--out", "OUT", "--pairs", "en-xx"], "en-xx is not one"),
        (["--out", "OUT", "--pivot", "xx"], "`--pivot` must be one of"),
        (["--out", "OUT", "--pivot-path", "x.pt"], "`--pivot-path` must come with --pivot"),
        (
            ["--out", "OUT", "--pivot", "en", "--pivot-path", "x.pt"],
            "`--pivot-path` must name checkpoints that exist; x.pt does not",
        ),
        (
            ["--out", "OUT", "--pivot", "en", "--pivot-path", "x.pt", "--perplexity"],
            "`--perplexity` must be left out with --pivot-path",
        ),
        (["--out", "OUT", "--beam", "0"], "`--beam` must be at least 1"),
        (["--out", "OUT", "--workers", "0"], "`--workers` must be at least 1"),
        (["--out", "OUT", "-s", "de"], "`--source-lang` must be left out without plain text"),
        ([], "`--out` must name a folder"),
        (["--input", "no.txt", "-s", "de", "-t", "fr"], "`--input` must be a text file"),
        (["--input", "-", "-s", "de"], "`--target-lang` must name the language"),
        (["--input", "-", "-s", "de", "-t", "xx"], "must know the languages of de-xx"),
        (["--out", "OUT", "--path", "DATA/dict.txt"], "not a complete checkpoint"),
        (["--out", "OUT", "--sampling-topk", "3"], "`--sampling-topk` must be above 0"),
        (["--out", "OUT", "--min-len", "300"], "`--min-len` must be at most --max-len-b, 200"),
        (["--out", "OUT", "--lenpen", "nan"], "`--lenpen` must be a number"),
        (["--out", "OUT", "--seed", "-1"], "`--seed` must be a whole number from 0"),
        (["--out", "OUT", "--average", "best-2"], "`--average` must come with a folder"),
        (["--out", "OUT", "--output", "x"], "`--output` must be left out without plain text"),
        (["--out", "DATA/dict.txt"], "`--out` must be a folder other than DATA"),
        (["--input", "-", "-s", "de", "-t", "fr", "--fresh"], "`--fresh` must be left out with"),
        (["--out", "OUT", "--path", ""], "`--path` must be checkpoints separated by colons"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else None,
)
def test_bad_input_is_one_line(translate, words, message, tmp_path):
    places = {"OUT": tmp_path, "DATA/dict.txt": prepared().root / "dict.txt"}
    path = () if "--path" in words else ("--path", trained())
    _, errors = translate(*path, *(places.get(word, word) for word in words), code=2)
    assert message in errors
    assert len([line for line in errors.split("\n") if line]) == 1


@pytest.mark.long
def test_a_checkpoint_without_a_language_leaves_the_others(translate, tmp_path):
    path = trained("--langs", "en,de", "--lang-pairs", "en-de,de-en")
    _, errors = translate("--path", path, "--pairs", "en-de,en-fr", "--out", tmp_path, code=1)
    assert (
        "en-fr: error: the checkpoint must know the languages of en-fr; it knows en, de, but not fr"
        in errors
    )
    assert len(lines(tmp_path / "en-de.hyp")) == TEST_SENTENCES
    assert not (tmp_path / "en-fr.hyp").exists()


def test_a_second_run_in_the_same_folder_is_refused(translate, tmp_path):
    import fcntl

    with (tmp_path / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        _, errors = translate("--path", trained(), "--out", tmp_path, code=2)
    assert "no other run is writing to" in errors
