"""The Slurm script: valid bash, and its tasks are the words that make a run."""

import os
import subprocess
from pathlib import Path

from tdo_plugin.grid.grid_script import TASK, sbatch_script


def test_a_task_runs_its_number(tmp_path: Path) -> None:
    script = tmp_path / "slurm.sh"
    words = ["printf", "%s\\n", "a b", "--task", TASK, "$HOME; `ls`"]
    text = sbatch_script("small", 29, "/a place/slurm-%a.log", words, 2, 4, ["--time=1:00"])
    script.write_text(text)
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": "7"}
    done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["a b", "--task", "7", "$HOME; `ls`"]
    assert text.splitlines()[:6] == [
        "#!/usr/bin/env bash",
        "#SBATCH --job-name=small",
        "#SBATCH --array=0-28%4",
        "#SBATCH '--output=/a place/slurm-%a.log'",
        "#SBATCH --gpus=2",
        "#SBATCH --time=1:00",
    ]


def test_nothing_is_asked_for_that_was_not(tmp_path: Path) -> None:
    text = sbatch_script("small", 1, "log", ["true"], 0, None, [])
    assert "#SBATCH --array=0-0\n" in text and "--gpus" not in text
