"""Files of a finished data folder other than its sets: lists, digests and settings."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdo_compat.digests import DIGESTS, seal
from tdo_plugin.data.databin import LISTS, MARK, SHARDS
from tdo_plugin.data.segmentation import Dropped
from tdo_plugin.data.set_parts import PARTS
from tdo_plugin.data.textfolder import TextFolder
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import sha256, write_text
from tdo_plugin.runtime.steps import read_record
from tdo_plugin.typed import read_json, typed

TEXTS = Path("work", "texts.json")  # digests of the text that a complete folder was made from
# binarised and text sets and dictionaries, by path relative to a data folder
_MADE = re.compile(
    r"(shard\d+/)?((train|valid|test)\.\w+-\w+\.\w+\.(bin|idx)|dict\.\w+\.txt)"
    r"|(pieces|reference)/(train|valid|test)\.[\w.-]+"
)


# files of a complete folder that training and translation read
_READ = re.compile(
    r"(shard\d+/)?([^/]+\.(bin|idx)|dict\.(\w+\.)?txt)|spm\.model|reference/.+"
    r"|(langs|pairs|test-pairs|shards)\.txt"
)


def left_out(out: Path) -> dict[str, Dropped]:
    """The rows that a complete data folder leaves out of each set (`train.en-de`)."""
    dropped = {}
    for path in sorted((out / "work" / "steps").glob("*.*-*.json")):
        if facts := _facts(path):
            dropped[path.stem] = typed(facts, Dropped, f"the facts of {path.name}")
    return dropped


def model_facts(out: Path) -> dict[str, Any]:
    """Facts of a data folder's joint model: pieces, and sentences (0: all of them)."""
    return _facts(out / "work" / "steps" / "model.json")


def _facts(path: Path) -> dict[str, Any]:
    record = read_record(path)
    if record is None:
        raise UserError(f"`DATA` must have intact files; {path} is damaged (--fresh makes it anew)")
    return record.facts


def is_of(out: Path, folder: TextFolder, digest: Callable[[Path], str]) -> bool:
    """Whether a complete folder was made from this text; true for older ones without digests."""
    try:
        texts = read_json(out / TEXTS)
    except (OSError, ValueError):
        return True
    return bool(texts == {folder.named(path): digest(path) for path in folder.files()})


def remove_strays(out: Path, kept: Collection[str]) -> None:
    """Remove files that are no longer needed, and results of earlier runs on other text or shards.

    Args:
        out: the data folder.
        kept: files to keep, by relative path.
    """
    shutil.rmtree(out / PARTS, ignore_errors=True)
    for path in (*out.glob("*"), *out.glob("*/*")):
        name = path.relative_to(out).as_posix()
        if _MADE.fullmatch(name) and name not in kept:
            path.unlink()
    for path in out.glob("shard*"):
        if re.fullmatch(r"shard\d+", path.name) and not any(path.iterdir()):
            path.rmdir()


def digests_of(out: Path, files: Collection[str]) -> dict[str, str]:
    """Digests of the files that training and translation read, to detect damage.

    Args:
        out: the folder.
        files: by relative path; files that only further preprocessing reads are omitted.
    """
    return {name: sha256(out / name) for name in sorted(files) if _READ.fullmatch(name)}


def write_lists(
    folder: TextFolder,
    out: Path,
    shards: Sequence[str],
    digest: Callable[[Path], str],
) -> None:
    """Write the lists of languages, directions and shards."""
    write_text(out / "langs.txt", folder.languages)
    write_text(out / "pairs.txt", (f"{a}-{b}" for a, b in folder.directions()))
    tests = [f"{s}-{t}" for (a, b), _ in folder.test_pairs() for s, t in ((a, b), (b, a))]
    write_text(out / "test-pairs.txt", dict.fromkeys(tests))
    (out / SHARDS).unlink(missing_ok=True)
    if shards[1:]:
        write_text(out / SHARDS, shards[1:])
    texts = {folder.named(path): digest(path) for path in folder.files()}
    write_text(out / TEXTS, [json.dumps(texts, indent=1)])


def write_mark(out: Path, stored: Mapping[str, Any], step_files: Collection[str]) -> None:
    """Write the marker of a complete folder: settings, and digests of them and of its files."""
    files = {*step_files, *(name for name in (*LISTS, SHARDS) if (out / name).is_file())}
    content = {**stored, DIGESTS: digests_of(out, files)}
    content[DIGESTS][MARK] = seal(content)
    write_text(out / MARK, [json.dumps(content, indent=1, ensure_ascii=False)])
