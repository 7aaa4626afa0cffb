"""Folders that take seconds to make, made once for all workers and later runs of the tests."""

import functools
import hashlib
import inspect
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from filelock import FileLock

import tdo_plugin

PACKAGE = Path(tdo_plugin.__file__).parent
SUPPORT = Path(__file__).parent
KEPT = 2 * 24 * 3600  # seconds that a folder is kept after its last use

_place: list[Path] = []


def keep_in(config: pytest.Config) -> None:
    """Let folders be made in pytest's cache; ``pytest --cache-clear`` empties it."""
    _place[:] = [config.cache.mkdir("made")]


def forget_old() -> None:
    """Remove what nobody has asked for lately, such as folders of code that is no more."""
    for mark in _place[0].glob("*.whole"):
        if time.time() - mark.stat().st_mtime > KEPT:
            shutil.rmtree(mark.with_suffix(""), ignore_errors=True)
            mark.unlink()


def made_once(make: Callable[..., object]) -> Callable[..., Path]:
    """Let ``make(folder, ...)`` fill a folder once.

    What is returned takes the other arguments and returns the folder.

    A folder is known by the function, its arguments and all code that could have made it: the
    package, scripts and configs, the tests' helpers and the function's own file. Nobody may change
    what is in it.
    """

    @functools.cache
    @functools.wraps(make)
    def made(*arguments: object, **options: object) -> Path:
        request = (make.__qualname__, arguments, sorted(options.items()))
        key = hashlib.sha256(f"{request} {_code(inspect.getfile(make))}".encode()).hexdigest()
        folder = _place[0] / f"{make.__name__.strip('_')}-{key[:12]}"
        mark = folder.with_suffix(".whole")
        with FileLock(folder.with_suffix(".lock")):
            if not mark.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder, *arguments, **options)
            mark.touch()
        return folder

    return made


@functools.cache
def _code(path: str) -> str:
    """A digest of the code that a function of this file may run."""
    digest = hashlib.sha256(torch.__version__.encode())
    root = PACKAGE.parent
    files = [*PACKAGE.rglob("*.py"), *root.glob("tdo_compat/*.py"), *SUPPORT.rglob("*.py")]
    for pattern in ("scripts/**/*.sh", "configs/**/*.json", "configs/**/*.toml"):
        files += root.glob(pattern)
    for file in [*sorted(files), Path(path)]:
        digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()
