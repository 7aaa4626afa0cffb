"""How commands end on an altered file."""

import contextlib
import difflib
import io
import random
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.data import kept_logging

from tdo_plugin.cli import main

REFUSED, SAME, AS_ALTERED = "refused", "as without", "as altered"
LONGEST = 4000  # characters of a message
SAYS = re.compile(r"error: | is missing: ")  # what is refused, or not there
HERE = "FOLDER"  # what the place of the files is called in what was said


class SilentlyWrong(AssertionError):
    """A command said another thing than without the change, which the change does not mean."""


@dataclass(frozen=True)
class Said:
    """What commands said and wrote.

    Attributes:
        code: the largest exit code.
        output: standard output, and text that was written.
        errors: lines of standard error.
    """

    code: int
    output: str
    errors: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """Files of a kind, and the commands that read them.

    Attributes:
        name: of the kind.
        make: gives the folder of whole files, which stays as it is.
        alter: by pattern of file names, how one is changed.
        run: what the commands say of a folder of such files.
        means: whether what they said is what the altered folder means; None: nothing but what was
            said without the change is right.
    """

    name: str
    make: Callable[[], Path]
    alter: Mapping[str, Callable[[bytes, random.Random], bytes]]
    run: Callable[[Path], Said]
    means: Callable[[Path, Said], bool] | None = None


def tdo(folder: Path, *commands: Sequence[object]) -> Said:
    """What commands of `tdo` say, up to the first that refuses."""
    code, errors = 0, ""
    output = io.StringIO()
    for words in commands:
        stderr = io.StringIO()
        with (
            kept_logging(),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(stderr),
        ):
            try:
                ended = main([str(word) for word in words])
            except SystemExit as end:
                ended = int(end.code or 0)
        code, errors = max(code, ended), errors + stderr.getvalue()
        if ended > 1:
            break
    text = output.getvalue().replace(str(folder), HERE)
    return Said(code, text, tuple(errors.replace(str(folder), HERE).splitlines()))


def ended(subject: Subject, usual: Said, seed: str, scratch: Path) -> tuple[str, str]:
    """Alter one file of a copy and run the commands.

    Args:
        subject: what is altered.
        usual: what its commands say without a change.
        seed: of the change.
        scratch: an empty folder's name.

    Returns:
        How they ended, and what was changed.

    Raises:
        SilentlyWrong: in none of the ways that are right; any other error is one as well.
    """
    whole = subject.make()
    shutil.copytree(whole, scratch)
    drawn = random.Random(seed)
    pattern = drawn.choice(list(subject.alter))
    path = drawn.choice(sorted(scratch.rglob(pattern)))
    content = path.read_bytes()
    changed = subject.alter[pattern](content, drawn)
    path.write_bytes(changed)
    what = f"{path.relative_to(scratch)}: {_difference(content, changed)}"
    try:
        result = subject.run(scratch)
    except Exception as error:
        raise SilentlyWrong(f"{what} ended in {type(error).__name__}: {error}") from error
    finally:
        meant = scratch.with_name(f"{scratch.name}-meant")
        scratch.rename(meant)  # the commands may have left something in caches by its name
    refusals = [line for line in result.errors if SAYS.search(line) and line not in usual.errors]
    for line in result.errors:
        if len(line) > LONGEST or not line.isprintable():
            raise SilentlyWrong(f"{what} gave an unbounded message")
    if result.code > 1 or (refusals and result.code):
        if len(refusals) != 1 and result.code > 1:
            raise SilentlyWrong(f"{what} gave {len(refusals)} lines: {result.errors}")
        return REFUSED, what
    if (result.code, result.output) == (usual.code, usual.output):
        return SAME, what
    if _is_meant(subject, meant, result):
        return AS_ALTERED, what
    lines = difflib.unified_diff(usual.output.splitlines(), result.output.splitlines(), n=0)
    raise SilentlyWrong("\n".join([what, *result.errors, *lines]))


def _is_meant(subject: Subject, folder: Path, result: Said) -> bool:
    try:
        return subject.means is not None and subject.means(folder, result)
    except (ArithmeticError, LookupError, TypeError, ValueError):  # it means nothing
        return False


def _difference(before: bytes, after: bytes) -> str:
    begin = next(
        (n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    tail = min(len(before), len(after)) - begin
    end = next((n for n in range(tail) if before[-1 - n] != after[-1 - n]), tail)
    first = max(0, begin - 30)
    return (
        f"{before[first : len(before) - end][:160]!r} -> {after[first : len(after) - end][:160]!r}"
    )
