"""The scripts of the papers' tables, run from a clone, and the commands that they show."""

import itertools
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from integration.configs import ROOT

TABLES = ROOT / "scripts" / "tables"
FIGURES = ROOT / "scripts" / "figures"
SETTINGS = ("LID", "TDO_TRACEBACK")  # variables by which a user's settings would change a run


def make_clone(root: Path) -> Path:
    """Scripts and configs whose set-up does nothing, with the environment of these tests."""
    for folder in ("scripts", "configs", "benchmarks"):
        shutil.copytree(ROOT / folder, root / folder)
    (root / "scripts" / "setup.sh").write_text("exit 0\n")
    (root / ".venv").symlink_to(sys.prefix)
    return root


def script(
    clone: Path, name: str, *words: object, code: int = 0
) -> subprocess.CompletedProcess[str]:
    """A script of either folder, which ends with this exit code."""
    (path,) = (clone / "scripts").glob(f"*/{name}")
    environment = {key: value for key, value in os.environ.items() if key not in SETTINGS}
    result = subprocess.run(
        ["bash", str(path), *map(str, words)],
        cwd="/",
        capture_output=True,
        text=True,
        env=environment | {"OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert result.returncode == code, result.stdout + result.stderr
    return result


def shown(clone: Path, name: str, *words: object) -> list[list[str]]:
    """The `tdo` commands of a dry run, without that word."""
    lines = script(clone, name, *words, "--dry-run").stdout.splitlines()
    commands = [shlex.split(line[2:]) for line in lines if line.startswith("+ ")]
    return [command[1:] for command in commands if command[0] == "tdo"]


def trained(clone: Path, commands: list[list[str]]) -> dict[str, dict[str, str]]:
    """By system, the last value of each flag of its training; its config under `config`."""
    found = {}
    for words in commands:
        if words[0] == "train":
            flags = {a: b for a, b in itertools.pairwise(words) if a.startswith("--")}
            _, *name = Path(flags["--save-dir"]).parent.relative_to(clone / "runs").parts
            config = Path(words[1]).relative_to(clone / "configs").as_posix()
            found["/".join(name)] = {"config": config, "data": words[2], **flags}
    return found
