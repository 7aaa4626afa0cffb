"""Provenance of results: versions, the git commit, hashes of files."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("tdo_plugin", "fairseq", "torch", "sacrebleu", "sentencepiece")


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of packages that affect results; missing packages are omitted."""
    installed = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return installed


@cache
def git_commit() -> str | None:
    """The commit of this package's checkout, with `+` if files differ; None without git."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=10
        ).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def made_by(command: str) -> dict[str, Any]:
    """The provenance record of results: the command, versions and the commit."""
    return {"command": command, "versions": versions(), "commit": git_commit()}
