"""The runner, with a program that stands for `tdo`: what is begun, kept, ended, reported."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.grid_bench import ALL, ONE, STAND_IN, Bench, cell, stand_in
from support.grids import AXES

from tdo_plugin.errors import UserError
from tdo_plugin.grid import running
from tdo_plugin.grid.folder import BEGUN, NOT_BEGUN, TRAINED, TRANSLATED
from tdo_plugin.grid.running import check, deal, run_all
from tdo_plugin.runtime import commands
from tdo_plugin.runtime.lock import alone


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return stand_in(tmp_path, monkeypatch)


def wait_for(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_every_run_is_trained_and_translated_once(bench: Bench) -> None:
    runs = bench.folders()
    assert {run.state() for run in runs} == {NOT_BEGUN}
    assert bench.run(runs) == {}
    assert bench.made() == [f"{what} {name}" for name in ALL for what in ("train", "translate")]
    assert {run.state() for run in runs} == {TRANSLATED}
    assert bench.run(runs) == {} and len(bench.made()) == 8
    assert bench.said[-1] == "ae-1 is done already"
    assert "ae-1: update 60 of 90, loss 4.12, translating" in bench.said
    assert runs[0].parameters() == 1234567


def test_what_the_commands_are_told(bench: Bench) -> None:
    grid = {"translate": ["--beam 5"], "directions": "supervised"}
    (run,) = bench.folders(*ONE, behind=["--lr", "2"], **grid)
    plan = bench.plan(behind=("--lr", "2"), slots=((),), threads=3)
    bench.run([run], plan)
    train, translate = bench.calls()
    folder = bench.root / "out" / "baseline"
    assert train["words"] == [
        *(str(folder / "cell.conf"), str(bench.root / "data")),
        *("--save-dir", str(folder / "checkpoints"), "--cpu", "--lr", "2"),
    ]
    assert translate["words"] == [
        *(str(bench.root / "data"), "--path", str(folder / "checkpoints")),
        *("--out", str(folder / "output"), "--workers", "1", "--cpu"),
        *("--pairs", "supervised", "--beam", "5"),
    ]
    assert (train["threads"], train["gpus"]) == ("3", os.environ.get("CUDA_VISIBLE_DEVICES"))
    assert "--arch tdo_encoder_decoder" in (folder / "cell.conf").read_text()


def test_gpus_are_dealt_out(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert deal(2, 4, 1) == ((0,), (1,)) and deal(2, 4, 2) == ((0, 1), (2, 3))
    assert deal(3, 2, 1) == ((0,), (1,), (0,)) and deal(2, 0, 1) == ((), ())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    bench.run(bench.folders(*ALL[:2]), bench.plan(slots=((1,),)))
    assert {call["gpus"] for call in bench.calls()} == {"7"}
    assert "--gpus 1" in " ".join(bench.calls()[0]["words"])


def test_so_many_at_a_time(bench: Bench) -> None:
    axes = {"axes": {**AXES, "z": {"w": ["--waits 1"]}}}
    runs = bench.folders("lm-0-w", "lm-1-w", "ae-1-w", **axes)
    seen: list[str] = []

    def open_the_gate() -> None:
        wait_for(lambda: len(bench.made()) >= 2)
        time.sleep(0.3)  # for a third that should not come
        seen.extend(bench.made())
        (bench.root / "gate").touch()

    opener = threading.Thread(target=open_the_gate)
    opener.start()
    assert bench.run(runs, bench.plan(2)) == {}
    opener.join()
    assert sorted(seen) == ["train lm-0-w", "train lm-1-w"] and len(bench.made()) == 6


def test_a_failure_keeps_no_other_from_being_done(bench: Bench) -> None:
    runs = bench.folders(**cell("--breaks-early"))
    log = bench.root / "out" / "baseline" / "train.log"
    why = f"training ended with 3: out of luck (all of it: {log})"
    assert bench.run(runs) == {"baseline": why}
    assert f"baseline: {why}" in bench.said
    assert [run.state() for run in runs] == [BEGUN, *[TRANSLATED] * 3]


def test_a_translation_that_fails_is_done_again_and_the_training_is_not(bench: Bench) -> None:
    (run,) = bench.folders(*ONE, **cell("--breaks-late"))
    assert "translating ended with 1: it says nothing" in bench.run([run])["baseline"]
    assert run.state() == TRAINED
    bench.run([run])
    assert bench.made() == ["train baseline", "translate baseline", "translate baseline"]
    assert "--fresh" not in bench.calls()[2]["words"]


def test_an_interrupted_training_goes_on(bench: Bench) -> None:
    (run,) = bench.folders(*ONE)
    run.path.mkdir(parents=True)
    run.begin()
    (run.path / "checkpoints").mkdir()
    (run.path / "checkpoints" / "checkpoint_last.pt").touch()
    bench.run([run])
    assert "baseline: training goes on" in bench.said
    assert (run.path / "checkpoints" / "checkpoint_last.pt").exists()


def test_a_training_that_outlived_its_runner_is_not_trained_on(bench: Bench) -> None:
    (run,) = bench.folders(*ONE)
    run.path.mkdir(parents=True)
    run.begin()
    assert run.state() == BEGUN
    run.train_log.write_text("x | INFO | fairseq_cli.train | done training in 7.0 seconds\n")
    assert run.state() == TRAINED
    bench.run([run])
    assert bench.made() == ["translate baseline"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (cell("--lr 0.3"), "was trained with --lr 0.2 instead of 0.3"),
        (cell("--lr 0.2", "--new"), "--new nothing instead of set"),
        (cell("gpus 2"), "gpus 1 instead of 2, --lr 0.2 instead of 0.1"),
        ({"behind": ["--lr", "9"]}, "nothing behind `--` instead of --lr 9"),
    ],
)
def test_other_flags_are_refused_and_with_fresh_trained_anew(
    bench: Bench, changes: dict, message: str
) -> None:
    base = cell("--lr 0.2")
    bench.run(bench.folders(*ONE, **base))
    old = bench.root / "out" / "baseline" / "checkpoints" / "old.pt"
    old.parent.mkdir()
    old.touch()
    (run,) = bench.folders(*ONE, **{**base, **changes})
    with pytest.raises(UserError, match="`--out` must be a new folder, or --fresh given") as error:
        check([run], fresh=False)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert message in bench.run([run])["baseline"] and old.exists()  # where nobody checked
    check([run], fresh=True)
    assert bench.run([run], bench.plan(fresh=True)) == {}
    assert not old.exists() and bench.made().count("train baseline") == 2
    assert (run.path / ".lock").exists()  # another runner may hold it
    assert bench.run([run], bench.plan(fresh=True)) == {}
    assert bench.made().count("train baseline") == 2  # what is as asked for stays


def test_a_folder_of_something_else_is_left_alone(bench: Bench) -> None:
    (run,) = bench.folders(*ONE)
    mine = run.path / "checkpoints" / "checkpoint_last.pt"
    mine.parent.mkdir(parents=True)
    mine.touch()
    for fresh in (False, True):
        with pytest.raises(UserError, match="has files of something else"):
            check([run], fresh)
        troubles = bench.run([run], bench.plan(fresh=fresh))
        assert "has files of something else" in troubles["baseline"]
    assert mine.exists() and not bench.made()


def test_other_data_is_refused(bench: Bench) -> None:
    bench.run(bench.folders(*ONE))
    (bench.root / "data" / "prepared.json").write_text('{"other": 1}')
    with pytest.raises(UserError, match="was trained with other data"):
        check(bench.folders(*ONE), fresh=False)


def test_collecting_takes_whatever_stood_behind(bench: Bench) -> None:
    (run,) = bench.folders(*ONE, behind=["--lr", "9"])
    bench.run([run])
    (same,) = bench.folders(*ONE, behind=None)
    assert same.state() == TRANSLATED and same.behind() == ["--lr", "9"]


@pytest.mark.parametrize("changes", [{"translate": ["--beam 7"]}, {"directions": "zero-shot"}])
def test_other_decoding_only_translates_anew(bench: Bench, changes: dict) -> None:
    bench.run(bench.folders(*ONE))
    (run,) = bench.folders(*ONE, **changes)
    assert run.state() == TRAINED
    bench.run([run])
    assert bench.made() == ["train baseline", "translate baseline", "translate baseline"]
    assert bench.calls()[2]["words"][-1] == "--fresh" and run.state() == TRANSLATED


def test_a_run_in_other_hands_is_left_to_them(bench: Bench) -> None:
    runs = bench.folders(*ALL[:2])
    with alone(runs[0].path):
        troubles = bench.run(runs)
    assert troubles == {"baseline": f"another run is making it in {runs[0].path}"}
    assert bench.made() == ["train lm-0", "translate lm-0"]


RUNNER = """
import sys
from pathlib import Path
from support.grid_bench import Bench, ONE, cell
from tdo_plugin.cli import main
from tdo_plugin.grid import running
from tdo_plugin.runtime import commands
running.TDO = (sys.executable, "-S", sys.argv[2])
commands.GRACE = 1.0
bench = object.__new__(Bench)
bench.root, bench.said = Path(sys.argv[1]), []
sys.exit(bool(bench.run(bench.folders(*ONE, **cell("--waits 1")))))
"""


def started(bench: Bench) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", RUNNER, str(bench.root), str(STAND_IN)]
    tests = str(Path(__file__).parents[2])
    path = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        words, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: bench.calls() or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    return process


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_runner_that_is_ended_takes_its_trainings_along(bench: Bench, number: int) -> None:
    process = started(bench)
    process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode != 0
    assert not lives(bench.calls()[0]["pid"])
    assert bench.folders(*ONE, **cell("--waits 1"))[0].state() == BEGUN


def test_a_training_whose_runner_was_killed_keeps_its_folder(bench: Bench) -> None:
    process = started(bench)
    process.kill()
    process.communicate()
    pid = bench.calls()[0]["pid"]
    assert lives(pid)
    (run,) = bench.folders(*ONE, **cell("--waits 1"))
    gate = bench.root / "gate"

    def say(line: str) -> None:
        if "training" in line:  # nothing shall wait for ever where the folder was not kept
            gate.touch()

    assert "another run is making it" in run_all([run], bench.plan(), say)["baseline"]
    gate.touch()
    wait_for(lambda: not lives(pid))
    assert bench.run([run]) == {}
    assert bench.made() == ["train baseline", "translate baseline"]


@pytest.mark.parametrize(
    ("answer", "grace", "code"),
    [("signal.SIG_IGN", 0.3, -signal.SIGKILL), ("lambda *_: sys.exit(5)", 60.0, 5)],
    ids=["by force", "by itself"],
)
def test_what_runs_is_asked_to_end_and_made_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, grace: float, code: int
) -> None:
    monkeypatch.setattr(commands, "GRACE", grace)
    text = f"import signal, sys, time; signal.signal(signal.SIGTERM, {answer})\n"
    text += "print('ready', flush=True); time.sleep(100)"
    ran, codes = commands.Commands(), []
    log = tmp_path / "log"

    def run() -> None:
        codes.append(ran.run([sys.executable, "-S", "-c", text], log, {}, 2))

    worker = threading.Thread(target=run)
    worker.start()
    wait_for(lambda: log.exists() and log.read_text() == "ready\n")
    ran.stop()
    worker.join()
    assert codes == [code]
    with pytest.raises(commands.Stopped):
        ran.run(["true"], log, {}, 2)


def test_now_and_then_it_says_how_far_it_is(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "EVERY", 0.05)
    (run,) = bench.folders(*ONE, **cell("--waits 1", "--max-update 80"))

    def say(line: str) -> None:
        bench.said.append(line)
        if "update 60" in line:
            (bench.root / "gate").touch()

    assert run_all([run], bench.plan(), say) == {}
    assert "baseline: update 60 of 80, loss 4.12" in bench.said
    (longer,) = bench.folders(*ONE, behind=["--max-update=70"], **cell("--waits 1"))
    assert running._last_update(longer) == "update 60 of 70, loss 4.12"
    line = '| train_inner | {"epoch": 1, "loss": "5.5", "nll_loss": "4", "num_updates": "7"}'
    longer.train_log.write_text(f"{line}\n")
    assert running._last_update(longer) == "update 7 of 70, loss 5.5"
