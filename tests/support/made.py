"""Folders that take seconds to make, made once for all workers and later runs of the tests."""

import ast
import functools
import hashlib
import inspect
import os
import shutil
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".made"
SOURCES = (ROOT, ROOT / "tests")  # where imports are looked for
COMMANDS = ROOT / "tdo_plugin/cli/__init__.py"
# what runs in each process or may be read by any command
ALWAYS = ("tdo_compat/*.py", "scripts/**/*.sh", "configs/**/*.json", "configs/**/*.toml")
KEPT = 2 * 24 * 3600  # seconds that a folder is kept after its last use


def forget_old() -> None:
    """Remove what nobody has asked for lately, such as folders of code that is no more."""
    PLACE.mkdir(exist_ok=True)
    for mark in PLACE.glob("*.whole"):
        if time.time() - mark.stat().st_mtime > KEPT:
            shutil.rmtree(mark.with_suffix(""), ignore_errors=True)
            mark.unlink()


def made_once(make: Callable[..., object]) -> Callable[..., Path]:
    """Let ``make(folder, ...)`` fill a folder once.

    What is returned takes the other arguments and returns the folder.

    A folder is known by the function, its arguments and the code that may have made it: what the
    function's file imports, and what that imports (:func:`code_of`). Nobody may change what is in
    it.
    """

    @functools.cache
    @functools.wraps(make)
    def made(*arguments: object, **options: object) -> Path:
        request = (make.__qualname__, arguments, sorted(options.items()))
        key = hashlib.sha256(f"{request} {_digest(inspect.getfile(make))}".encode()).hexdigest()
        folder = PLACE / f"{make.__name__.strip('_')}-{key[:12]}"
        mark = folder.with_suffix(".whole")
        with FileLock(folder.with_suffix(".lock")):
            if not mark.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                make(folder, *arguments, **options)
            mark.touch()
        return folder

    return made


@functools.cache
def _digest(path: str) -> str:
    digest = hashlib.sha256(version("torch").encode())
    for file in sorted(code_of(Path(path))):
        digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()


def code_of(file: Path) -> set[Path]:
    """The files that a function of this file may run, by all imports that stand in them."""
    found: set[Path] = set()
    new = {file.resolve(), *(path for pattern in ALWAYS for path in ROOT.glob(pattern))}
    while new:
        found |= new
        new = {path for file in new if file.suffix == ".py" for path in _imported(file)} - found
    return found


@functools.cache
def _imported(file: Path) -> set[Path]:
    """The files that this one imports, in functions too."""
    parents = {".".join(name.split(".")[:end]) for name in set(_names(file)) for end in range(1, 9)}
    return set().union(*map(_files, parents))


@functools.cache
def _files(module: str) -> set[Path]:
    """Where a module's code may be; a package and a file of one name are both taken."""
    places = [os.path.join(source, *module.split(".")) for source in SOURCES]
    files = [f"{place}{ending}" for place in places for ending in ("/__init__.py", ".py")]
    return {path for path in map(Path, filter(os.path.isfile, files)) if ROOT in path.parents}


def _names(file: Path) -> Iterator[str]:
    """Of modules. A test's word may be a command of `tdo`, other words what is imported by name."""
    package = ".".join(file.relative_to(ROOT).parent.parts)
    by_name = "tdo_plugin.cli" if ROOT / "tests" in file.parents else package
    for node in ast.walk(ast.parse(file.read_bytes())):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{name.name}" for name in names)
            case ast.Constant(value=str(word)) if file != COMMANDS:
                if (name := word.replace("-", "_")).replace(".", "_").isidentifier():
                    yield name
                    yield f"{by_name}.{name}"
