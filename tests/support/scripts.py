"""The scripts, run from a clone, and the commands of `tdo` that they come to."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.configs import ROOT
from support.data import temporary
from support.fork_server import environment_folder
from support.processes import LIMIT, finished, heard

DOORS = sorted(  # of tables and figures, below scripts/
    path.relative_to(ROOT / "scripts") for path in (ROOT / "scripts").glob("*/*.sh")
)
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
def _saying_clone() -> Path:
    """The scripts, whose Python only says what it is called with."""
    root = temporary() / "clone"
    shutil.copytree(ROOT / "scripts", root / "scripts")
    (root / "scripts" / "setup.sh").write_text("exit 0\n")
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nshift 2\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    return root


def called(place: Path | str, *words: str) -> list[str]:
    """The words of `tdo` that a script comes to, behind what it says itself, each a line."""
    return heard(finished(["bash", _saying_clone() / "scripts" / place, *words])).splitlines()
