"""The scripts of the papers' tables, run from a clone, and the commands that they show."""

import functools
import itertools
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from support.configs import ROOT
from support.data import temporary
from support.fork_server import environment_folder
from support.made import made_once
from support.processes import LIMIT, finished, heard

CLONE = "/clone"  # in what a dry run shows, for wherever it is
TABLES = ROOT / "scripts" / "tables"
FIGURES = ROOT / "scripts" / "figures"
# variables by which a user's settings would change what scripts do
SETTINGS = ("TDO_TORCH", "LID", "SLURM_JOB_NODELIST", "TDO_TRACEBACK")


def make_clone(root: Path) -> Path:
    """Scripts and configs to run, with the environment of these tests as their own.

    Their set-up does nothing; the real one is beside it, as ``real-setup.sh``. Python and the
    commands are the fork server's.
    """
    for folder in ("scripts", "configs", "benchmarks"):
        shutil.copytree(ROOT / folder, root / folder)
    set_up = root / "scripts" / "setup.sh"
    set_up.rename(set_up.with_name("real-setup.sh"))
    set_up.write_text("exit 0\n")
    (root / ".venv").symlink_to(environment_folder())
    return root


def script(
    clone: Path,
    name: str,
    *words: object,
    cwd: Path = Path("/"),
    code: int = 0,
    limit: float = LIMIT,
    **settings: object,
) -> subprocess.CompletedProcess[str]:
    """A script, of whichever folder, which ends with this exit code."""
    (path,) = {*(clone / "scripts").glob(name), *(clone / "scripts").glob(f"*/{name}")}
    environment = {key: value for key, value in os.environ.items() if key not in SETTINGS}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHON": sys.executable}
    environment |= {key: str(value) for key, value in settings.items()}
    done = finished(["bash", path, *words], cwd=cwd, env=environment, limit=limit)
    heard(done, code)
    return done


@functools.cache
def _own_clone() -> Path:
    folder = temporary() / "clone"
    folder.mkdir()
    return make_clone(folder)


@made_once
def _dry_run(folder: Path, name: str, words: tuple[str, ...]) -> None:
    output = script(_own_clone(), name, *words, "--dry-run", CUDA_VISIBLE_DEVICES="").stdout
    (folder / "said").write_text(output.replace(str(_own_clone()), CLONE))


def dry_run(name: str, *words: str) -> str:
    """What a script of a table or figure shows, on a machine without a GPU.

    Its clone is :data:`CLONE`. Tests that look at the same commands share them.
    """
    return (_dry_run(name, words) / "said").read_text()


def shown(clone: Path, name: str, *words: object) -> list[list[str]]:
    """The `tdo` commands of a dry run, without that word, as a clone's."""
    arguments = [str(word).replace(str(clone), CLONE) for word in words]
    output = dry_run(name, *arguments)
    commands = [shlex.split(line[2:]) for line in output.splitlines() if line.startswith("+ ")]
    return [
        [word.replace(CLONE, str(clone)) for word in command[1:]]
        for command in commands
        if command[0] == "tdo"
    ]


def trained(clone: Path, commands: list[list[str]]) -> dict[str, dict[str, str]]:
    """By system, the last value of each flag of its training; its config under `config`."""
    systems = {}
    for words in commands:
        if words[0] == "train":
            flags = {a: b for a, b in itertools.pairwise(words) if a.startswith("--")}
            _, *name = Path(flags["--save-dir"]).parent.relative_to(clone / "runs").parts
            config = Path(words[1]).relative_to(clone / "configs").as_posix()
            systems["/".join(name)] = {"config": config, "data": words[2], **flags}
    return systems
