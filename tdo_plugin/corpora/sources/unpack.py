"""Extracts the required texts of an archive in one pass.

FOLDER/MEMBER              a text; only complete ones have their name
FOLDER/INNER.tgz!/MEMBER   a text of an archive within the archive
FOLDER/.unpacked.json      the members that exist, written after all of them
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from tdo_compat.errors import named_when_full
from tdo_compat.settings import shown
from tdo_plugin.corpora.description.schema import Archive
from tdo_plugin.corpora.sources.archives import BLOCK, archive_errors, entries, open_joined
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import replaced, write_text
from tdo_plugin.typed import read_json

RECORD = ".unpacked.json"
SHOWN = 3  # number of names to suggest for a missing one
LEFT_OUT = "that are links or lead out of the folder"

Found = dict[str, list[str]]  # member -> its files, relative to the folder
Stamp = list[list[int]]  # size and time of each file of an archive


def unpack(
    archive: Archive,
    files: Sequence[Path],
    members: Sequence[str],
    folder: Path,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, tuple[Path, ...]]:
    """Extract texts; those that exist from an earlier call on the same archive are kept.

    Args:
        archive: see `Archive`.
        files: its file, or its parts in order.
        members: names or globs ("dev/*.en"), "OUTER/INNER.tgz!NAME" within an archive within the
            archive; "" if the file itself is the text.
        folder: to extract to.
        say: gets a line about omitted files: links, and names that lead out of the folder.

    Returns:
        For each member its files, for a glob sorted. If the file itself is the text, nothing is
        copied; parts are joined in the folder.

    Raises:
        UserError: the archive is damaged or lacks a member, or the folder cannot be written.
    """
    if set(members) == {""} and len(files) == 1:
        return {"": (files[0],)}
    try:
        stamp = [[path.stat().st_size, path.stat().st_mtime_ns] for path in files]
        unpacked = _recall(folder, stamp)
        missing = [member for member in members if member not in unpacked]
        if missing:
            folder.mkdir(parents=True, exist_ok=True)
            if not unpacked:
                (folder / RECORD).unlink(missing_ok=True)
            with open_joined(files) as stream:
                if "" in missing:
                    missing.remove("")
                    _write(stream, folder / archive.name)
                    stream.seek(0)
                    unpacked[""] = [archive.name]
                if missing:
                    unpacked |= _extract(stream, archive.name, missing, folder, "", say)
            _remember(folder, stamp, unpacked)
    except OSError as error:
        raise UserError(
            f"`--out` must be a folder with space for the text of {archive.name}; "
            f"{error.filename or folder}: {error.strerror}"
        ) from None
    return {member: tuple(folder / name for name in unpacked[member]) for member in members}


def _extract(
    stream: BinaryIO,
    label: str,
    members: Sequence[str],
    folder: Path,
    prefix: str,
    say: Callable[[str], None],
) -> Found:
    """Extract the required members of one archive.

    Args:
        stream: the archive.
        label: its name in errors.
        members: to extract.
        folder: to extract to.
        prefix: of the names within the folder.
        say: see `unpack`.
    """
    files_by_member: dict[str, set[str]] = {member: set() for member in members}
    seen: list[str] = []
    left_out: list[str] = []
    with archive_errors(label):
        for name, open_entry in entries(stream, left_out):
            seen.append(name)
            fitting = [member for member in members if _fits(name, member.partition("!")[0])]
            plain = [member for member in fitting if "!" not in member]
            nested = {member: member.partition("!")[2] for member in fitting if "!" in member}
            if plain:
                with open_entry() as content:
                    _write(content, folder / prefix / name)
                for member in plain:
                    files_by_member[member].add(prefix + name)
            if nested:
                inner_members = [*dict.fromkeys(nested.values())]
                with named_when_full(folder), tempfile.TemporaryFile(dir=folder) as inner:
                    with open_entry() as content:
                        shutil.copyfileobj(content, inner, BLOCK)
                    inner.seek(0)
                    called, within = f"{label}!{name}", f"{prefix}{name}!/"
                    texts = _extract(inner, called, inner_members, folder, within, say)
                for member, text in nested.items():
                    files_by_member[member].update(texts[text])
    if left_out:
        say(f"{label}: left out {len(left_out)} {LEFT_OUT}: {_some(left_out, left_out)}")
    for member, names in files_by_member.items():
        if not names:
            raise UserError(_lacks(label, member.partition("!")[0], seen, left_out))
    return {member: sorted(names) for member, names in files_by_member.items()}


def _fits(name: str, pattern: str) -> bool:
    """Whether a name equals the pattern, or matches it; * stays within a folder."""
    if name == pattern:
        return True
    parts, patterns = PurePosixPath(name).parts, PurePosixPath(pattern).parts
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _lacks(label: str, member: str, seen: Sequence[str], left_out: Sequence[str]) -> str:
    if seen:
        has = f"it has {_some(get_close_matches(member, seen, SHOWN) or seen, seen)}"
    elif left_out:
        has = f"it has only {len(left_out)} {LEFT_OUT}: {_some(left_out, left_out)}"
    else:
        has = "it has no files"
    return f"`{label}` must have a file {member}; {has}"


def _some(names: Sequence[str], among: Sequence[str]) -> str:
    """A few of the names, for a message, and whether there are more."""
    few = names[:SHOWN]
    return ", ".join(map(shown, few)) + (", ..." if len(among) > len(few) else "")


def _write(content: IO[bytes], path: Path) -> None:
    """Copy a stream to a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as partial, partial.open("wb") as stream:
        shutil.copyfileobj(content, stream, BLOCK)


def _recall(folder: Path, stamp: Stamp) -> Found:
    """Members that were extracted from this archive and are unchanged."""
    try:
        record = read_json(folder / RECORD)
        if record["archive"] != stamp:
            return {}
        return {
            member: list(files)
            for member, files in record["members"].items()
            if all(_size(folder / name) == length for name, length in files.items())
        }
    except (OSError, ValueError, KeyError, AttributeError):
        return {}


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _remember(folder: Path, stamp: Stamp, unpacked: Mapping[str, Sequence[str]]) -> None:
    members = {
        member: {name: _size(folder / name) for name in names} for member, names in unpacked.items()
    }
    record = {"archive": stamp, "members": members}
    write_text(folder / RECORD, [json.dumps(record, indent=1)])
