"""The runner with stand-ins for Slurm's commands: steps as jobs, their ends, and the runner's."""

import os
import shlex
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support import slurm_stand_in
from support.covering import mostly_full
from support.experiments import noted, planned, started, use_stand_in
from support.processes import until

from tdo_plugin.cli import main
from tdo_plugin.experiments import slurm_jobs
from tdo_plugin.experiments.machine import Machine
from tdo_plugin.experiments.runner import Runner, job_of
from tdo_plugin.experiments.steps import Graph, Step
from tdo_plugin.experiments.tables import PlannedTable

TRAINING = "tdo/training"


@pytest.fixture(autouse=True)
def slurm(monkeypatch, tmp_path):
    """Slurm's queue, in a folder."""
    queue = tmp_path / "queue"
    queue.mkdir()
    monkeypatch.setenv("PATH", slurm_stand_in.install(tmp_path / "tools"))
    monkeypatch.setenv("QUEUE", str(queue))
    monkeypatch.setenv("HELD", str(tmp_path / "held"))
    use_stand_in(monkeypatch, tmp_path)
    for name, seconds in (("BEAT", 0.05), ("EVERY", 0.1), ("LOST", 2.0)):
        monkeypatch.setattr(slurm_jobs, name, seconds)
    return queue


def run(table: PlannedTable) -> tuple[dict[str, str], list[str]]:
    said: list[str] = []
    machine = Machine.of_slurm(2, 3, None, ["--time=9"])
    return Runner(table.plan.graph, machine, said.append).run(table.goals), said


def submitted(queue: Path) -> list[str]:
    """Names of jobs, in the order of their numbers, without what tells runs apart."""
    files = sorted(queue.glob("*.submitted"), key=lambda path: int(path.stem))
    return [file.read_text().rsplit(".", 2)[0] for file in files]


def several_looks(queue: Path) -> None:
    """Wait until a runner has looked at the queue a few times more, longer than it tells lost."""
    asked = queue / "asked"
    until(asked.exists)
    before = asked.stat().st_size
    until(lambda: asked.stat().st_size >= before + 6 * len("squeue\n"))


def test_what_computes_is_a_job_and_the_rest_is_done_here(tmp_path, slurm):
    troubles, said = run(planned(tmp_path, "table1", "toy", 1, "base", "tdo"))
    assert troubles == {}
    assert sorted(submitted(slurm)) == [
        *("base/output/en-X", "base/training", "tdo/output/en-X", "tdo/training"),
    ]
    assert any("+ fairseq-train stock" in line for line in said)
    assert "tdo/training: job 2" in said or "tdo/training: job 1" in said
    trained = [words for words in noted(tmp_path) if words[0] == "train"]
    assert all(words[words.index("--gpus") + 1] == "2" for words in trained)
    before = len(noted(tmp_path))
    assert run(planned(tmp_path, "table1", "toy", 1, "base", "tdo"))[0] == {}
    assert len(noted(tmp_path)) == before and not list(slurm.glob("[0-9]"))


def test_so_many_jobs_at_a_time(tmp_path, slurm):
    (tmp_path / "held").touch()
    process = started("slurm", tmp_path, "table1")
    until(lambda: len(submitted(slurm)) == 2)
    several_looks(slurm)  # in which a third should not come
    (tmp_path / "held").unlink()
    assert process.wait(60) == 0
    assert len(submitted(slurm)) == 6


def test_what_a_job_made_in_part_is_made_again(tmp_path, slurm, monkeypatch):
    folder = tmp_path / "run"
    graph = Graph(folder)
    words = {f"{name}/made": [f"{name}=/row"] for name in "ab"}
    for name in words:
        out = folder / name
        made = Step(name, "made", (("probe", "--out", str(out)),), (), (out,), device="one")
        graph.add(made)
    out = folder / "both"
    command = ("probe", "--out", str(out), "a=/row", "b=/row")
    drawing = Step(
        "both/drawing", "drawing", (command,), tuple(words), (out,), device="one", spared=words
    )
    graph.add(drawing)
    machine = Machine.of_slurm(2, 3, None, [])
    monkeypatch.setenv("FAILS", f"probe:{folder}/b/made")
    troubles = Runner(graph, machine, print).run([drawing.name])
    assert troubles[drawing.name] == "incomplete, without b/made"
    monkeypatch.delenv("FAILS")
    assert Runner(graph, machine, print).run([drawing.name]) == {}
    drawn = [tuple(words) for words in noted(tmp_path) if str(out) in words]
    assert [{"a=/row", "b=/row"} & {*words} for words in drawn] == [
        {"a=/row"},
        {"a=/row", "b=/row"},
    ]


def test_a_failing_job_is_told_with_its_log(tmp_path, monkeypatch):
    monkeypatch.setenv("FAILS", "translate")
    table = planned(tmp_path, "table1", "toy", 1, "tdo")
    troubles, _ = run(table)
    log = table.plan.graph.log("tdo/output/en-X")
    assert troubles == {"tdo/output/en-X": f"ended with 3: no memory (full log: {log})"}
    monkeypatch.setenv("FAILS", "")
    assert run(table)[0] == {}
    assert [words[0] for words in noted(tmp_path)].count("train") == 1


def test_what_sbatch_refuses_is_told(tmp_path, slurm):
    (tmp_path / "tools" / "sbatch").write_text("#!/bin/sh\necho no such partition >&2; exit 1\n")
    troubles, _ = run(planned(tmp_path, "table1", "toy", 1, "tdo"))
    assert troubles == {TRAINING: "sbatch ended with 1: no such partition"}
    (tmp_path / "tools" / "sbatch").unlink()
    troubles, _ = run(planned(tmp_path, "table1", "toy", 1, "tdo"))
    assert troubles == {TRAINING: "`sbatch` must be installed; No such file or directory"}


def test_a_job_that_is_gone_without_a_word_is_told(tmp_path, slurm, monkeypatch):
    """As where its machine has failed; squeue that does not answer for a while says nothing."""
    monkeypatch.setenv("TRAINS", "60")
    process = started("slurm", tmp_path, "table1", "tdo")
    until(lambda: submitted(slurm) and int((slurm / "1").read_text().split()[0]))
    (slurm / "silent").touch()
    several_looks(slurm)  # more than a job may be gone from a queue that is told
    assert process.poll() is None
    (slurm / "silent").unlink()
    process.kill()
    process.wait()
    os.killpg(int((slurm / "1").read_text().split()[0]), signal.SIGKILL)
    until(lambda: not (slurm / "1").exists())
    (tmp_path / "tools" / "sbatch").write_text("#!/bin/sh\necho 7\n")
    troubles, _ = run(planned(tmp_path, "table1", "toy", 1, "tdo"))
    assert troubles[TRAINING].startswith("left Slurm's queue: ")


@pytest.mark.parametrize("number", mostly_full([signal.SIGTERM, signal.SIGINT]))
def test_a_runner_that_is_ended_cancels_its_jobs_which_go_on_later(
    tmp_path, slurm, monkeypatch, number
):
    monkeypatch.setenv("TRAINS", "20")  # longer than a busy machine takes to end the runner
    process = started("slurm", tmp_path, "table1", "tdo")
    checkpoint = tmp_path / "run" / "tdo" / "checkpoints" / "checkpoint_last.pt"
    until(checkpoint.exists)
    process.send_signal(number)
    assert process.wait(20) != 0
    monkeypatch.setenv("TRAINS", "0")
    assert len(checkpoint.read_text().splitlines()) < 10
    assert run(planned(tmp_path, "table1", "toy", 1, "tdo"))[0] == {}  # the job may still end
    assert len(checkpoint.read_text().splitlines()) == 10
    assert submitted(slurm) == [TRAINING, TRAINING, "tdo/output/en-X"]
    assert [words[0] for words in noted(tmp_path)].count("corpus") == 1


@pytest.mark.parametrize("meanwhile", mostly_full(["it trains", "it has ended"]))
def test_the_jobs_of_a_runner_that_was_killed_are_waited_for(
    tmp_path, slurm, monkeypatch, meanwhile
):
    monkeypatch.setenv("TRAINS", "2")
    (tmp_path / "held").touch()
    process = started("slurm", tmp_path, "table1", "tdo")
    until(lambda: submitted(slurm))
    process.kill()
    process.wait()
    table = planned(tmp_path, "table1", "toy", 1, "tdo")
    here = Runner(table.plan.graph, Machine.of(0, 2, 1, 1), print).run(table.goals)
    assert here[TRAINING].startswith("`--slurm` must be given while job 1 of tdo/trai")
    (tmp_path / "held").unlink()
    if meanwhile == "it has ended":
        until(lambda: not (slurm / "1").exists())
    monkeypatch.setenv("TRAINS", "0")
    troubles, said = run(planned(tmp_path, "table1", "toy", 1, "tdo"))
    assert troubles == {} and submitted(slurm) == [TRAINING, "tdo/output/en-X"]
    waited = "tdo/training: waiting for existing job 1" in said
    assert waited == (meanwhile == "it trains")
    assert [words[0] for words in noted(tmp_path)].count("train") == 1


def test_a_job_of_other_flags_is_cancelled(tmp_path, slurm, monkeypatch):
    monkeypatch.setenv("TRAINS", "60")
    process = started("slurm", tmp_path, "table1", "tdo")
    until(lambda: submitted(slurm) and int((slurm / "1").read_text().split()[0]))
    process.kill()
    process.wait()
    monkeypatch.setenv("TRAINS", "0")
    assert run(planned(tmp_path, "table1", "toy", 1, "tdo", form="disjoint"))[0] == {}
    assert submitted(slurm) == [TRAINING, TRAINING, "tdo/output/en-X"]
    assert (slurm / "1.cancelled").exists() and not (slurm / "1").exists()


def test_a_training_whose_time_is_over_goes_on_in_another_turn(tmp_path, slurm, monkeypatch):
    """Slurm warns the workers, not the script; what it began with is not read once more."""
    table = planned(tmp_path, "parts", "toy", 1, "tdo+robt")
    monkeypatch.setenv("ENDS", "tdo+robt")
    assert run(table)[0] == {}
    checkpoint = tmp_path / "run" / "tdo+robt" / "checkpoints" / "checkpoint_last.pt"
    assert len(checkpoint.read_text().splitlines()) == 10
    assert submitted(slurm).count("tdo+robt/training") == 1
    trained = [words for words in noted(tmp_path) if words[0] == "train"]
    turns = [words for words in trained if "tdo+robt" in words[1]]
    assert ["--restore-file" in words for words in turns] == [True, False]


def test_a_dry_run_shows_each_script(tmp_path, slurm, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", "quickstart", "quickstart", "--scale", "smoke", "--rows", "tdo*"]
    words += ["--dry-run", "--slurm", "--gpus-each", "4", "--sbatch=--time=24:00:00"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    scripts = [text.partition("\n# ")[0] for text in shown.split("#!/usr/bin/env bash")[1:]]
    assert len(scripts) == 2  # of the training and the translation
    for text in scripts:
        assert "#SBATCH --gpus-per-node=4\n" in text
        assert text.index("--requeue") < text.index("#SBATCH --time=24:00:00")
        assert subprocess.run(["bash", "-n", "-c", text], check=False).returncode == 0
    run_folder = tmp_path / "runs" / "quickstart-smoke"
    (command,) = (line for line in shown.splitlines() if "tdo-instrucl/training.sh" in line)
    assert shlex.split(command)[1:3] == ["sbatch", "--parsable"]
    assert f"--output={run_folder}/tdo-instrucl/train.log" in shlex.split(command)
    assert "+ tdo average" in shown and not submitted(slurm) and not run_folder.exists()


def test_a_step_that_needs_one_gpu_has_one_and_prints_to_its_file(tmp_path):
    graph = planned(tmp_path, "table1", "toy", 1, "tdo").plan.graph
    text = tmp_path / "a file.txt"
    step = replace(graph["tdo/output/en-X"], device="one", text=text)
    job = job_of(graph, Machine.of_slurm(8, None, 3, ()), step, tuple(range(8)))
    assert "#SBATCH --gpus-per-node=1\n" in job.text and f">>'{text}' || code=$?" in job.text
    assert job.environment == {"OMP_NUM_THREADS": "3"}


def test_what_is_refused(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused.rows(
        """
        reproduce quickstart --scale smoke
            --sbatch=--time=9                  :: --slurm
            --slurm --gpus 2                   :: --gpus
            --slurm --cpu --gpus-each 2        :: --gpus-each
            --slurm --dry-run {control}        :: --sbatch
        """,
        control="--sbatch=--x\n#",
    )
