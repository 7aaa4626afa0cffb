"""The runner of experiments: what is done once, goes on, is kept back, and how far it is."""

import random
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from psutil import process_iter
from support.experiments import noted, planned, started, use_stand_in
from support.processes import until

from tdo_plugin.errors import UserError
from tdo_plugin.experiments import runner
from tdo_plugin.experiments.machine import Machine
from tdo_plugin.experiments.progress import Progress
from tdo_plugin.experiments.runner import Runner, to_do
from tdo_plugin.experiments.steps import Graph, Step
from tdo_plugin.runtime.lock import alone
from tdo_plugin.runtime.log_ends import last_line
from tdo_plugin.runtime.memory import PeakMemory

RECORDS = {".steps", ".lock", "train.log", "partial"}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch, tmp_path):
    use_stand_in(monkeypatch, tmp_path)


def runner_of(graph, say=print):
    return Runner(graph, Machine.of(0, 2, 1, 1), say)


def run(table):
    said = []
    return runner_of(table.plan.graph, said.append).run(table.goals), said


def made(folder):
    """All that a run has made, but for its records."""
    run_folder = folder / "run"
    return {
        path.relative_to(run_folder).as_posix(): path.read_text().replace(str(folder), "")
        for path in sorted(run_folder.rglob("*"))
        if path.is_file() and not RECORDS & {*path.relative_to(run_folder).parts}
    }


def test_everything_is_done_once(tmp_path):
    troubles, said = run(planned(tmp_path, "table1"))
    assert troubles == {}
    names = [words[0] for words in noted(tmp_path)]
    assert {*names} == {
        *["average", "corpus", "preprocess", "report", "score", "train", "translate"]
    }
    assert names.count("train") == 3
    assert names.index("preprocess") < names.index("train") < names.index("score")
    assert any("+ fairseq-train stock" in line for line in said)
    assert "--tdo-target-layer 3\n" in (tmp_path / "run" / "tdo" / "system.conf").read_text()
    again, _ = run(planned(tmp_path, "table1"))
    assert again == {} and len(noted(tmp_path)) == len(names)


def test_what_is_gone_or_depends_on_something_else_now_is_made_anew(tmp_path, monkeypatch):
    table = planned(tmp_path, "table1", "toy", 1, "base", "tdo")
    run(table)
    (tmp_path / "run" / "report" / "table1" / "scores.json").unlink()
    assert to_do(table.plan.graph, table.goals) == []  # the report is there
    (tmp_path / "run" / ".steps" / "report" / "table1" / "report.json").unlink()
    assert [step.kind for step in to_do(table.plan.graph, table.goals)] == ["scores", "report"]
    before = len(noted(tmp_path))
    run(planned(tmp_path, "table1", "toy", 1, "base", "tdo", form="disjoint"))
    assert [words[0] for words in noted(tmp_path)[before:]].count("train") == 2
    other = tmp_path / "other"
    run(planned(other, "table1", "toy", 1, "base", "tdo", form="disjoint"))
    assert made(tmp_path) == made(other)
    before = len(noted(tmp_path))
    run(planned(tmp_path, "parts", "toy", 1, "tdo+robt", form="disjoint"))  # shares a training
    (later,) = (words for words in noted(tmp_path)[before:] if words[0] == "train")
    assert Path(later[1]).parent.name == "tdo+robt"
    start = later[later.index("--restore-file") + 1]
    assert start.endswith("run/tdo/checkpoints/checkpoint_last.pt")
    output = tmp_path / "run" / "tdo" / "output"
    assert any(output.iterdir())
    monkeypatch.setenv("FAILS", "train:/tdo/")  # which leaves no translations of an older model
    troubles, _ = run(planned(tmp_path, "table1", "toy", 1, "base", "tdo"))
    assert "tdo/training" in troubles and not any(output.iterdir())


def test_files_of_a_step_are_written_as_they_are(tmp_path):
    graph, run_folder = Graph(tmp_path / "run"), tmp_path / "run"
    file, out = run_folder / "cells.json", run_folder / "out"
    text, command = '{"label": "one\u2028line"}\n', ("average", "--out", str(out))
    graph.add(Step("out/made", "made", (command,), (), (out,), {file: text}))
    assert runner_of(graph).run(["out/made"]) == {}
    assert file.read_text(encoding="utf-8") == text


def test_a_failure_keeps_back_what_needs_it_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv("FAILS", "neurons")
    table = planned(tmp_path, "parts")
    troubles, _ = run(table)
    assert next(iter(troubles)) == "masks/0.5.masks/made"
    assert troubles["masks/0.5.masks/made"].startswith("ended with 3: no memory (full log: ")
    trained = {Path(words[1]).parent.name for words in noted(tmp_path) if words[0] == "train"}
    assert trained == {"one+direction=en-de", "one+direction=en-fr", "tdo", "tdo+robt"}
    monkeypatch.setenv("FAILS", "")
    before = len(noted(tmp_path))
    assert run(planned(tmp_path, "parts"))[0] == {}
    names = [words[0] for words in noted(tmp_path)[before:]]
    assert names.count("train") == 1 and "corpus" not in names


def test_the_peak_memory_of_a_training_is_said(tmp_path, monkeypatch):
    text = "import time; block = bytearray(200 << 20); time.sleep(1)"
    monkeypatch.setattr(runner, "TDO", (sys.executable, "-S", "-c", text))
    monkeypatch.setattr(runner, "PeakMemory", partial(PeakMemory, 0.05))
    graph, said = Graph(tmp_path / "run"), []
    graph.add(Step("tdo/training", "training", (("train",),), (), (tmp_path / "model",)))
    runner_of(graph, said.append).run(["tdo/training"])
    done = r"tdo/training: done in \d+ s, peak memory 0\.2 GiB"  # longer on a busy machine
    assert re.fullmatch(done, said[-1])


def test_a_training_that_is_killed_is_told_as_such(tmp_path, monkeypatch):
    text = "import os, time; print('loss 3', flush=True); time.sleep(0.5); os.kill(os.getpid(), 9)"
    monkeypatch.setattr(runner, "TDO", (sys.executable, "-S", "-c", text))
    monkeypatch.setattr(runner, "PeakMemory", partial(PeakMemory, 0.05))
    graph = Graph(tmp_path / "run")
    for kind in ("training", "translation"):
        graph.add(Step(f"tdo/{kind}", kind, (("train",),), (), (tmp_path / kind,)))
    troubles = runner_of(graph).run([step.name for step in graph])
    told = r"killed, probably for lack of memory; its peak was 0\.0 GiB of \d+\.\d GiB"
    assert re.match(
        rf"{told}; `--jobs 1`, or half of --max-tokens .*: loss 3 ", troubles["tdo/training"]
    )
    assert re.match(rf"{told}: loss 3 ", troubles["tdo/translation"])


def test_a_failed_row_is_marked_and_the_others_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("FAILS", "train:/tdo+instrucl/")
    troubles, _ = run(planned(tmp_path, "table1"))
    assert troubles.pop("tdo+instrucl/training").startswith("ended with 3: no memory")
    assert troubles == {
        "report/table1/text/scores": "incomplete, without tdo+instrucl/output/en-X",
        "report/table1/report": "incomplete, without report/table1/text/scores",
    }
    (score,) = (words for words in noted(tmp_path) if words[0] == "score")
    missing = tmp_path / "run" / "tdo+instrucl" / "output"
    assert f"like InstruCL at 5, authors' form={missing}" in score and missing.is_dir()
    assert (tmp_path / "run" / "report" / "table1" / "index.html").is_file()
    monkeypatch.setenv("FAILS", "")
    before = len(noted(tmp_path))
    assert run(planned(tmp_path, "table1"))[0] == {}
    again = [words[0] for words in noted(tmp_path)[before:]]
    assert again == ["train", "average", "translate", "score", "report"]
    monkeypatch.setenv("FAILS", "train")
    assert set(run(planned(tmp_path / "other", "table1"))[0]) == {
        f"{name}/training" for name in ("base", "tdo", "tdo+instrucl")
    }


def test_nothing_is_begun_again_in_a_folder_in_use(tmp_path, monkeypatch):
    table = planned(tmp_path, "table1", "toy", 1, "tdo")
    run(table)
    before, count = made(tmp_path), len(noted(tmp_path))
    monkeypatch.setattr(runner, "PATIENCE", 0.1)
    again = runner_of(table.plan.graph)
    steps = table.plan.graph.closure(table.goals)
    with alone(tmp_path / "run"), pytest.raises(UserError, match="no other run is writing to"):
        again.run(table.goals, (), steps)
    assert made(tmp_path) == before
    assert again.run(table.goals, (), steps) == {} and made(tmp_path) == before
    assert len(noted(tmp_path)) == 2 * count


def test_what_is_scored_in_part_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTLY", "score report average")
    troubles, _ = run(planned(tmp_path, "table1", "toy", 1, "tdo"))
    assert list(troubles) == ["tdo/checkpoint"]  # others must be whole
    monkeypatch.setenv("PARTLY", "score report")
    troubles, _ = run(planned(tmp_path, "table1", "toy", 1, "tdo"))
    assert list(troubles) == ["report/table1/text/scores", "report/table1/report"]
    assert troubles["report/table1/text/scores"].startswith("ended with 1: made ")
    assert (tmp_path / "run" / "report" / "table1" / "index.html").is_file()
    monkeypatch.setenv("PARTLY", "")
    before = len(noted(tmp_path))
    assert run(planned(tmp_path, "table1", "toy", 1, "tdo"))[0] == {}
    assert [words[0] for words in noted(tmp_path)[before:]] == ["score", "report"]


def test_a_drawing_is_of_the_rows_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setenv("FAILS", "train:/tdo+robt/")
    troubles, _ = run(planned(tmp_path, "parts"))
    assert troubles["report/parts/curve/drawing"] == "incomplete, without tdo+robt/training"
    (words,) = (words for words in noted(tmp_path) if words[0] == "curve")
    assert sum("validation.jsonl" in word for word in words) == 1


def test_a_tables_folder_has_what_was_asked_for_last(tmp_path):
    def go(*rows):
        table = planned(tmp_path, "parts", "toy", 1, *rows)
        assert runner_of(table.plan.graph).run(table.goals, table.stale()) == {}

    folder = tmp_path / "run" / "report" / "parts"
    go("tdo+robt", "each")
    assert (folder / "curve.svg").is_file() and (folder / "curve.txt").is_file()
    (folder / "gone").mkdir()
    for path in (folder / "gone" / "scores.json", folder / "mine.txt"):
        path.touch()
    go("each")
    names = {path.name for path in folder.iterdir()}
    assert names == {"scores.json", "index.html", "mine.txt"}
    go("tdo+robt")
    assert (folder / "curve.svg").is_file()


@pytest.mark.full
def test_an_ended_training_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAINS", "3")
    table = planned(tmp_path, "parts", "toy", 1, "tdo+robt")
    process = started("here", tmp_path, "parts", "tdo+robt")
    checkpoint = tmp_path / "run" / "tdo+robt" / "checkpoints" / "checkpoint_last.pt"
    until(checkpoint.exists)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 143
    lines = len(checkpoint.read_text().splitlines())
    assert lines < 10
    monkeypatch.setenv("TRAINS", "0")
    assert run(table)[0] == {}
    assert len(checkpoint.read_text().splitlines()) == 10
    starts = [words for words in noted(tmp_path) if "--restore-file" in words]
    assert len(starts) == 1  # going on with its own checkpoint it does not begin with another's


@pytest.mark.full
@pytest.mark.parametrize("kills", [6, 30])
def test_killed_again_and_again_it_makes_what_an_undisturbed_run_makes(
    kills, tmp_path, monkeypatch
):
    undisturbed, folder = tmp_path / "undisturbed", tmp_path / "killed"
    run(planned(undisturbed, "parts"))
    monkeypatch.setenv("PAUSE", "0.2")
    moments = random.Random(1)
    for _ in range(kills):
        process = started("here", folder, "parts")
        try:
            process.wait(0.6 + moments.random())
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    monkeypatch.setenv("PAUSE", "0")
    assert run(planned(folder, "parts"))[0] == {}
    assert made(folder) == made(undisturbed)


def test_commands_end_with_a_run_that_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("PAUSE", "60")
    process = started("here", tmp_path, "parts", "tdo+robt")
    until(lambda: noted(tmp_path))

    def commands():
        lines = (" ".join(each.info["cmdline"] or ()) for each in process_iter(["cmdline"]))
        return [line for line in lines if "stand_in.py" in line and str(tmp_path) in line]

    until(commands)
    process.kill()
    process.wait()
    until(lambda: not commands(), 20)


def test_how_far_it_is(tmp_path, monkeypatch):
    table = planned(tmp_path, "table1")
    graph = table.plan.graph
    trainings = [step for step in graph if step.kind == "training"]
    log = graph.log(trainings[0].name)
    log.parent.mkdir(parents=True)
    log.write_text("train_inner | loss=4.5, num_updates=20, lr=1\n")
    progress = Progress(graph)
    assert progress.line(trainings[1:2], (), 2) == "tdo/training: in the queue"  # of Slurm
    graph.log(trainings[1].name).parent.mkdir(parents=True)
    graph.log(trainings[1].name).touch()
    assert progress.line(trainings[:2], trainings[2:], 2) == (
        "base/training: update 20 of 100, loss 4.5 | tdo/training: starting"
    )
    inner = "train_inner | loss=4.0, num_updates=30, lr=1, wall=90"
    log.write_text(f"{inner}\n")
    now = time.monotonic()
    lines = []
    for later in (0, 100, 170, 1_000):  # it falls between two lines of the log
        monkeypatch.setattr(time, "monotonic", lambda later=later: now + later)
        lines.append(progress.line(trainings[:1], (), 2))
    assert all(line.startswith("base/training: update 30 of 100, loss 4.0") for line in lines)
    assert [line.partition("; training: ")[2] for line in lines] == [
        *("4 min to go", "2 min to go", "40 s to go", ""),
    ]
    # one that has logged nothing takes as long by estimate, and two at a time are not slower
    assert progress.line(trainings[:2], (), 2).endswith("; training: 5 min to go")
    assert last_line(log) == inner


def test_how_far_a_translation_is(tmp_path):
    graph = planned(tmp_path, "table1").plan.graph
    step = next(step for step in graph if step.kind == "translation")
    log = graph.log(step.name)
    log.parent.mkdir(parents=True)
    log.write_text("de-en: 255 sentences; 1 of 6 directions, 300 of 1,530 sentences, 9.1 sent")
    shown = Progress(graph).line([step], (), 1)
    assert shown == f"{step.name}: 1 of 6 directions, 300 of 1,530 sentences"


def test_a_step_keeps_its_key_though_options_are_renamed(tmp_path):
    """Else the next version would train again what is done."""
    keys = set()
    for words in (
        "average --inputs a --last 1 --output b --force",
        "average --path a --last 1 --out b --fresh",
    ):
        graph = Graph(tmp_path)
        graph.add(Step("a", "checkpoint", (tuple(words.split()),)))
        keys.add(graph.key("a"))
    assert len(keys) == 1
