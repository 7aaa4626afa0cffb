"""List the files of a user's text, unpack archives, and convert tables to plain text files."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tdo_plugin.corpora.description.schema import ConcreteSet, Member
from tdo_plugin.corpora.rows.readers import read
from tdo_plugin.corpora.sources.archives import archive_errors, entries
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import complete_file, replaced
from tdo_plugin.start.recognised_text import Text
from tdo_plugin.start.split_plan import SHARES
from tdo_plugin.start.text_file_names import is_text

ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")


def files_of(places: Sequence[Path], unpacked: Path, out: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and path of every file of a text, after unpacking archives.

    Args:
        places: the user's folders and files; nothing in them is changed. Names are relative to the
            folder if it is the only one, else to the folder that a place is in.
        unpacked: output folder for archives. A file in `data.zip` is named `data.zip/...`.
        out: the run folder; run folders below a folder are skipped.

    Raises:
        UserError: a place does not exist, a link is broken, or an archive is damaged.
    """
    for place in places:
        if not place.exists():
            raise UserError(
                f"`TEXT` must be a folder or files of parallel text; {place} is neither"
            )
        root = place if place.is_dir() and len(places) == 1 else place.resolve().parent
        for path in _below(place, out.resolve()) if place.is_dir() else [place]:
            name = (path if root == place else path.absolute()).relative_to(root).as_posix()
            if path.is_symlink() and not path.exists():
                raise UserError(f"`TEXT` must hold whole files; {name} is a broken link")
            if path.is_file() and name.endswith(ARCHIVES):
                yield from _unpacked(path, name, unpacked)
            elif path.is_file():
                yield name, path


def _below(folder: Path, out: Path) -> Iterator[Path]:
    """Yield files that are not hidden, following links to folders."""

    def fail(error: OSError) -> None:
        raise error

    seen: set[Path] = set()  # a link may point to a parent folder
    for place, folders, files in os.walk(folder, onerror=fail, followlinks=True):
        path, real = Path(place), Path(place).resolve()
        if real == out or real in seen or (SHARES in files and path != folder):
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (path / name for name in sorted(files) if not name.startswith("."))


def _unpacked(path: Path, name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    left_out: list[str] = []
    with path.open("rb") as stream, archive_errors(name):
        for entry, open_entry in entries(stream, left_out):
            target = folder / name / entry
            if is_text(entry):
                target.parent.mkdir(parents=True, exist_ok=True)
                with (
                    replaced(target) as partial,
                    partial.open("wb") as writer,
                    open_entry() as text,
                ):
                    shutil.copyfileobj(text, writer)
            yield f"{name}/{entry}", target
    for entry in left_out:  # links, and names that point outside the folder, which are no text
        yield f"{name}/{entry}" + " (left out)" * is_text(entry), folder / name / "left-out"


def as_lines(text: Text, folder: Path, unused: dict[str, str]) -> Text:
    """Return the text as one plain file per language; columns of a table are written to `folder`.

    Args:
        text: see `Text`.
        folder: for the columns.
        unused: gets the rows of a table without a header that are left out, with the reason.

    Raises:
        UserError: the table is damaged.
    """
    if text.form == "lines":
        return text
    order = [*text.files]  # column order of a table without a header
    columns = {language: number for number, language in enumerate(order)}
    files: dict[str, Path] = {}
    left_out: Counter[str] = Counter()
    for start in range(0, len(order), 2):
        pair = (order[start], order[(start + 1) % len(order)])
        codes = (text.titles.get(pair[0], pair[0]), text.titles.get(pair[1], pair[1]))
        member = Member(text.name, "")
        rows = read(
            ConcreteSet(
                split="train", pair=pair, codes=codes, members=(member,), format=text.form,
                encoding="utf-8", rows="all", deal=None,
                options={"columns": columns, "apart": text.apart},
            ),
            {member: (text.files[pair[0]],)}, None, left_out,
        )  # fmt: skip
        paths = [folder / f"{text.name}.{language}" for language in pair]
        paths[0].parent.mkdir(parents=True, exist_ok=True)
        with complete_file(paths[0]) as first, complete_file(paths[1]) as second:
            for left, right in rows:
                first.write(f"{left}\n")
                second.write(f"{right}\n")
        files |= dict(zip(pair, paths, strict=True))
    if text.form == "tsv":  # a unit of a memory may belong to another of its pairs
        unused |= {
            f"{count:,} rows of {text.name}": f"with {why}" for why, count in left_out.items()
        }
    return replace(text, files=files, form="lines")
