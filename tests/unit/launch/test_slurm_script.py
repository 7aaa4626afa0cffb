"""The Slurm script of a training: valid bash, and what it does with a training that ends."""

import os
from pathlib import Path

import pytest
from support.processes import finished

from tdo_plugin.launch.slurm_script import RENDEZVOUS, job_script
from tdo_plugin.launch.training import Machine

PLACE = Path("/a place")
TWO = Machine(gpus=4, nodes=2, rendezvous=RENDEZVOUS)
# Stand-ins: srun runs the one command that it is given, scontrol knows three machines.
STAND_INS = {
    "srun": 'echo "srun $1 cores ${SRUN_CPUS_PER_TASK:-none}"; shift; exec "$@"',
    "scontrol": 'if [[ $1 == show ]]; then printf "n%s\\n" 7 8 9; else echo "scontrol $*"; fi',
}


def run(tmp_path: Path, text: str, **settings: str) -> tuple[int, list[str]]:
    """The exit code of a script, and what it says."""
    for name, body in STAND_INS.items():
        (tmp_path / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    place = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_JOB_ID": "41234"}
    place["SLURM_JOB_NODELIST"] = "n[7-9]"
    done = finished(["bash", "-c", text], env=place | settings)
    assert bool(done.stderr) == ("no checkpoint was written" in done.stderr)
    return done.returncode, done.stdout.splitlines()


def test_what_is_asked_for():
    text = job_script("ted", TWO, PLACE, [["train"]], ["--time=1:00", "--signal=TERM@300"])
    directives = [line for line in text.splitlines() if line.startswith("#SBATCH ")]
    assert directives == [
        "#SBATCH --job-name=ted",
        "#SBATCH '--output=/a place/slurm-%j.log'",
        "#SBATCH --open-mode=append",
        "#SBATCH --nodes=2",
        "#SBATCH --ntasks-per-node=1",
        "#SBATCH --gpus-per-node=4",
        "#SBATCH --signal=TERM@120",
        "#SBATCH --requeue",
        "#SBATCH --time=1:00",
        "#SBATCH --signal=TERM@300",  # the later one is taken
    ]
    assert "--gpus" not in job_script("ted", Machine(), PLACE, [["train"]], [])


def test_machines_meet_at_the_first(tmp_path):
    words = ["printf", "%s\\n", "a b", "--rendezvous", RENDEZVOUS, "$HOME; `ls`"]
    text = job_script("ted", TWO, PLACE, [words], [])
    code, lines = run(tmp_path, text)
    where = "n7:21234"
    assert (code, lines[1:]) == (0, ["a b", "--rendezvous", where, "$HOME; `ls`"])
    assert lines[0] == "srun --kill-on-bad-exit=0 cores none"
    assert run(tmp_path, text, SLURM_CPUS_PER_TASK="12")[1][0].endswith("cores 12")
    # one machine needs no place to meet
    assert "scontrol show" not in job_script("ted", Machine(gpus=4), PLACE, [["train"]], [])


def test_what_is_printed_is_of_the_last_turn_alone(tmp_path):
    printed = tmp_path / "a file.txt"
    printed.write_text("of a turn that was cut off\n")
    commands = [["echo", "one"], ["echo", "two"]]
    text = job_script("probe", Machine(), tmp_path, commands, [], printed=printed)
    assert run(tmp_path, text) == (0, [])
    lines = printed.read_text().splitlines()
    assert [line for line in lines if not line.startswith("srun")] == ["one", "two"]


WRITES = "touch save/checkpoint_last.pt; "


@pytest.mark.parametrize(
    ("body", "code", "waits"),
    [
        (WRITES + "exit 0", 0, False),
        (WRITES + "exit 1", 1, False),
        (WRITES + "exit 143", 143, True),
        ("exit 143", 143, False),
        (WRITES + "kill $PPID; exit 143", 143, False),
    ],
)
def test_only_a_training_whose_time_is_over_waits_again(body, code, waits, tmp_path, monkeypatch):
    """Without a checkpoint it would wait for ever; scancel ends the shell of the script, too."""
    monkeypatch.chdir(tmp_path)
    save = Path("save")
    save.mkdir()
    (save / "checkpoint_last.pt").touch()
    os.utime(save / "checkpoint_last.pt", (0, 0))  # of the turn before
    text = job_script("ted", TWO, save, [["bash", "-c", body]], [])
    exit_code, lines = run(tmp_path, text)
    assert (exit_code, "scontrol requeue 41234" in lines) == (code, waits)
