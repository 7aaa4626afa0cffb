"""The scripts of the TDO paper's tables and figures, run: a few updates, a Slurm job, a report."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.ending import free_port
from support.scripts import script


@pytest.mark.full
def test_a_few_updates_of_some_rows_of_each(clone: Path, tmp_path: Path) -> None:
    """Among them all that are pre-trained, converted and trained on; each ends in its report."""
    run, begun = tmp_path / "run", 0
    chosen = {
        "table1": "ted19/tdo-causal-adaptation-instrucl,opus100-wide/tdo-prefix",
        "table2": "m2m-418m/encoder-decoder,m2m-418m/decoder-only,m2m-418m/tdo-adaptation-instrucl",
        "table3": "ted19/encoder-decoder@instrucl-n",
        "table4": "ted19/tdo-prefix@stage-1-ffn-2816",
        "figure1": "ted19/encoder-decoder,ted19/causal-decoder-only",
        "figure5": "opus100-deep/tdo-prefix@m-7-of-8",
        "figure6": "ted19/prefix-decoder-only@instrucl-6-of-6",
        "figure7": "ted19/causal-decoder-only@strategy-3,ted19/encoder-decoder@strategy-2",
    }
    for name, rows in chosen.items():
        words = ("--smoke", "--out", run, "--rows", rows)
        begun += script(clone, f"tdo_{name}.sh", *words).stdout.count("training begins")
        assert (run / name / "index.html").is_file()
    logs = sorted(run.rglob("train.log"))
    assert len(logs) == begun == 14
    for log in logs:
        assert "@ 2 updates" in log.read_text(), log
    assert (run / "figure1" / "preference" / "sentence.png").is_file()
    assert (run / "figure1" / "bars" / "sweep.csv").is_file()
    # other layers for the encoder: only what has one is trained again
    words = ("--smoke", "--out", run, "--rows", chosen["table2"], "--encoder", "decoder")
    again = script(clone, "tdo_table2.sh", *words).stdout
    assert "to train: m2m-418m/encoder-decoder\ntrained already: m2m-418m/original" in again
    assert re.findall(r"(\S+): training begins", again) == ["m2m-418m/encoder-decoder"]
    assert again.count("is trained already") == 3
    assert "not in the estimate" not in again  # --smoke estimates nothing
    facts = run / "m2m-418m" / "converted" / "encoder-decoder" / "conversion.json"
    assert json.loads(facts.read_text())["stacks"]["encoder_layers"] == "decoder:1,2,3"


def test_full_decodes_on_all_gpus_what_the_paper_tests(clone: Path) -> None:
    """Wherever the run lies; a CPU has as many workers as trainings."""
    code = f"""
      source "{clone}/scripts/tables/tdo.sh"
      row ted19/tdo-prefix TDO
      row opus100-deep/tdo-prefix TDO
      run=/opus100-runs scale=full kind=full jobs=1
      count_gpus() {{ echo $COUNT; }}
      tdo() {{ echo "$@"; }}
      ready() {{ make_checkpoint "$run/$1" 1; }}
      for one in "${{rows[@]}}"; do translate_row "$one" all; done
      usual_jobs
    """

    def said(gpus: int) -> list[str]:
        settings = {**os.environ, "COUNT": str(gpus)}
        done = subprocess.run(
            ["bash", "-c", code], env=settings, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    for gpus, machine, usual in ((8, "--gpus 8", "8"), (1, "--gpus 1", "2"), (0, "--cpu", "2")):
        *lines, jobs = said(gpus)
        assert jobs == usual
        averaged = [line for line in lines if line.startswith("average")]
        assert [re.findall(r"--best (\d)", line) for line in averaged] == [["5"], ["1"]]
        for line in (line for line in lines if line.startswith("translate")):
            assert f" {machine} " in line
            assert (" --workers 1 " in line) == (gpus == 0)


SRUN = """#!/usr/bin/env bash
echo "$@" >>"$SEEN"
shift 5
"$@" & one=$!
"$@" & two=$!
wait $one && wait $two
"""


@pytest.mark.full
def test_full_takes_all_machines_of_a_slurm_job(clone: Path, tmp_path: Path) -> None:
    """The same with two updates and stand-ins for Slurm's commands: two machines, this one."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, text in (("srun", SRUN), ("scontrol", "#!/bin/sh\necho 127.0.0.1\n")):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    code = f"""
      source "{clone}/scripts/tables/tdo.sh"
      row ted19/tdo-prefix TDO
      eval "$(declare -f scale_smoke | sed s/scale_smoke/smaller_smoke/)"
      scale_smoke() {{ smaller_smoke; take_all_gpus; }}
      make_table table1 all --smoke --out "{tmp_path}/run" "$@"
    """
    settings = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "SEEN": str(tmp_path / "seen"),
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_JOB_NODELIST": "two",
        "SLURM_JOB_ID": str(20000 + free_port()),
        "OMP_NUM_THREADS": "1",
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-c", code, "tdo_table1.sh", *words]
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)

    refused = run("--jobs", "2")
    assert refused.returncode == 1
    assert refused.stderr == (
        "tdo_table1.sh: error: `--jobs` must be 1 with the 2 machines of this Slurm job; it is 2\n"
    )
    done = run("--jobs", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    (seen,) = (tmp_path / "seen").read_text().splitlines()
    assert seen.startswith("--nodes 2 --ntasks-per-node 1 --kill-on-bad-exit=0 ")
    assert " --nodes 2 --rendezvous 127.0.0.1:" in seen
    (log,) = (tmp_path / "run").rglob("train.log")
    assert "training on 2 devices" in log.read_text() and "@ 2 updates" in log.read_text()


@pytest.mark.full
def test_a_real_run_ends_with_report_and_picture(clone: Path, tmp_path: Path) -> None:
    """Two systems, with few updates; then a page of two such reports."""
    rows = ("--rows", "ted19/prefix-decoder-only,ted19/tdo-prefix@m-1-of-12")
    done = script(clone, "tdo_figure5.sh", *rows, "--updates", 250, "--out", tmp_path)
    assert re.search(r"^2 trainings, 0\.\d+ GPU hours: an estimate", done.stdout, re.MULTILINE)
    report = tmp_path / "figure5"
    sheet = json.loads((report / "scores.json").read_text())
    assert len(sheet["systems"]) == 2
    with (report / "ted19-tdo-prefix" / "sweep.csv").open() as stream:
        (line,) = (row for row in csv.DictReader(stream) if row["direction"] == "supervised")
    before, after = (means["supervised"]["bleu"] for means in sheet["means"].values())
    assert (line["value"], float(line["mean"])) == ("1", pytest.approx(100 * (after / before - 1)))
    page = tmp_path / "all.html"
    words = ["--report", "Figure 5", report, "--report", "Table 1", report, "tdo:1"]
    command = [sys.executable, "-m", "tdo_plugin", "collect", *words, "--out", page]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    text = page.read_text()
    assert text.count("<h2") >= 2 and "data:image/png;base64," in text
    assert "beside the published rows" in text and 'href="figure5/index.html"' in text
