"""Files in which one value is another, and what commands make of them.

How a file is altered is drawn by hypothesis, which reduces what goes wrong to the least change.
"""

import contextlib
import copy
import functools
import io
import json
import operator
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn, SearchStrategy
from support.commands import exit_code

REFUSED, SAME, OTHER = "refused", "same result", "another result"
LONGEST = 4000  # characters of a message
SAYS = re.compile(r"error: | is missing: ")  # what is refused, or not there
HERE = "FOLDER"  # what the place of the files is called in what was said
# of other types, beyond what can be meant, or of a form that leads elsewhere
WRONG: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**70, 10**400, 0.5, 1e300),
    *(float("nan"), float("inf"), "", " ", "x", "0", "../x", "/", "\x1b[31m", "a\nb", "é", "{0}"),
    *("--user-dir /tmp", "x" * 5000, [], [1], [[]], {}, {"x": 1}),
)
LETTERS = "aA0-_./ {}\t\x00\"'\\é"

Alter = Callable[[bytes], SearchStrategy[bytes]]


@dataclass(frozen=True)
class Said:
    """What commands said and wrote."""

    code: int  # the largest exit code
    output: str  # standard output, and text that was written
    errors: tuple[str, ...]  # lines of standard error


@dataclass(frozen=True)
class Subject:
    """Files of a kind, and the commands that read them."""

    name: str
    make: Callable[[], Path]  # gives the folder of whole files, which stays as it is
    alter: Mapping[str, Alter]  # by pattern of file names, how one is changed
    run: Callable[[Path], Said]  # what the commands say of a folder of such files
    # whether what they said, though not usual, is what the altered folder means
    means: Callable[[Path, Said], bool] | None = None


def tdo(folder: Path, *commands: Sequence[object]) -> Said:
    """What commands of `tdo` say, up to the first that refuses."""
    code, output, errors = 0, io.StringIO(), io.StringIO()
    for words in commands:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            code = max(code, exit_code(*words) or 0)
        if code > 1:
            break
    out, err = (said.getvalue().replace(str(folder), HERE) for said in (output, errors))
    return Said(code, out, tuple(err.splitlines()))


def outcome(subject: Subject, usual: Said, data: DataObject, scratch: Path) -> str:
    """Alter one file of a copy as ``data`` draws it, run the commands, and check how they end.

    They usually say ``usual``. The copy is ``scratch``, of which nothing is left.
    """
    shutil.copytree(subject.make(), scratch)
    try:
        pattern = data.draw(st.sampled_from(list(subject.alter)))
        path = data.draw(st.sampled_from(sorted(scratch.rglob(pattern))))
        path.write_bytes(data.draw(subject.alter[pattern](path.read_bytes())))
        return _ending(subject, usual, subject.run(scratch), scratch)
    finally:
        for left in scratch.parent.glob(f"{scratch.name}*"):
            shutil.rmtree(left)


def _ending(subject: Subject, usual: Said, result: Said, folder: Path) -> str:
    assert all(len(line) <= LONGEST and line.isprintable() for line in result.errors)
    refusals = [line for line in result.errors if SAYS.search(line) and line not in usual.errors]
    if result.code > 1 or (refusals and result.code):
        assert len(refusals) == 1 or result.code == 1, result.errors
        return REFUSED
    if (result.code, result.output) == (usual.code, usual.output):
        return SAME
    assert subject.means is not None and subject.means(folder, result), result
    return OTHER


# --- JSON ----------------------------------------------------------------------------------------


def altered_json(content: bytes) -> SearchStrategy[bytes]:
    """A document in which one value is replaced, removed, doubled or renamed."""
    document = json.loads(content)
    places = list(_places(document))
    values = [_at(document, place) for place in places]

    @st.composite
    def altered(draw: DrawFn) -> bytes:
        changed = copy.deepcopy(document)
        *above, key = draw(st.sampled_from(places))
        holder = _at(changed, above)
        how = draw(st.sampled_from(("replace", "near", "remove", "double", "rename")))
        if how == "replace":
            holder[key] = copy.deepcopy(draw(st.sampled_from((*values, *WRONG))))
        elif how == "near":
            holder[key] = draw(_near(holder[key]))
        elif how == "remove":
            del holder[key]
        elif isinstance(holder, list):
            holder.insert(0, holder[key] if how == "double" else holder.pop(key))
        else:
            other = draw(st.one_of(_other_text(key), st.sampled_from(sorted(holder))))
            holder[other] = holder[key] if how == "double" else holder.pop(key)
        return json.dumps(changed, ensure_ascii=False).encode()

    return altered().filter(lambda text: text != json.dumps(document, ensure_ascii=False).encode())


def altered_json_line(content: bytes) -> SearchStrategy[bytes]:
    """JSON objects, one a line: one of them altered, or a line as `altered_lines` has it."""
    lines = content.splitlines(keepends=True)

    @st.composite
    def altered(draw: DrawFn) -> bytes:
        number = draw(st.integers(0, len(lines) - 1))
        line = draw(altered_json(lines[number])) + b"\n"
        return b"".join((*lines[:number], line, *lines[number + 1 :]))

    return st.one_of(altered(), altered(), altered(), altered_lines(content))


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value below the document."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*above, key)
        if isinstance(item, (dict, list)):
            yield from _places(item, (*above, key))


def _at(document: Any, way: Sequence[Any]) -> Any:
    return functools.reduce(operator.getitem, way, document)


def _near(value: Any) -> SearchStrategy[Any]:
    if isinstance(value, str):
        return _other_text(value)
    if isinstance(value, (int, float)):
        return st.sampled_from((value + 1, value - 1, -value, value * 100, str(value), [value]))
    if isinstance(value, list):
        return st.sampled_from((value[::-1], value[1:], value * 2, {"x": value}))
    return st.sampled_from(([value], json.dumps(value)))


def _other_text(text: str) -> SearchStrategy[str]:
    """Text with one letter more, less or another, or as a whole in another form."""

    @st.composite
    def altered(draw: DrawFn) -> str:
        place = draw(st.integers(0, len(text)))
        letter = draw(st.sampled_from(["", *LETTERS]))
        return text[:place] + letter + text[place + draw(st.integers(0, 1)) :]

    return st.one_of(altered(), altered(), st.sampled_from((text.swapcase(), text * 2, f"{text} ")))


# --- lines and bytes -----------------------------------------------------------------------------


def altered_lines(content: bytes) -> SearchStrategy[bytes]:
    """Text in which one line or one word is another; also one byte that is no UTF-8."""
    lines = content.split(b"\n")
    all_words = content.split()
    wrong = [str(value).encode() for value in WRONG if isinstance(value, (str, int, float))]

    @st.composite
    def altered(draw: DrawFn) -> bytes:
        number, other = (draw(st.integers(0, max(0, len(lines) - 2))) for _ in range(2))
        changed = list(lines)
        how = draw(st.sampled_from(("gone", "twice", "swapped", *("word", "letter") * 3, "byte")))
        if how == "gone":
            del changed[number]
        elif how == "twice":
            changed.insert(other, lines[number])
        elif how == "swapped":
            changed[number], changed[other] = lines[other], lines[number]
        elif how == "letter":
            changed[number] = draw(_other_text(lines[number].decode())).encode()
        elif how == "byte":
            place = draw(st.integers(0, len(lines[number])))
            changed[number] = lines[number][:place] + draw(st.binary(min_size=1, max_size=1))
            changed[number] += lines[number][place:]
        else:
            words = lines[number].split(b" ")
            place = draw(st.integers(0, len(words) - 1))
            new = st.lists(st.sampled_from((*all_words, *wrong)), max_size=2)
            changed[number] = b" ".join((*words[:place], *draw(new), *words[place + 1 :]))
        return b"\n".join(changed)

    return altered().filter(lambda text: text != content)


def altered_bytes(content: bytes) -> SearchStrategy[bytes]:
    """Bytes of which one, or one stretch, is another, more or less."""

    @st.composite
    def altered(draw: DrawFn) -> bytes:
        place = draw(st.integers(0, len(content) - 1))
        new = draw(st.one_of(st.binary(max_size=8), st.integers(0, 8).map(bytes)))
        rest = draw(st.sampled_from((place, place + 1, place + len(new), len(content))))
        return content[:place] + new + content[rest:]

    return altered().filter(lambda changed: changed != content)
