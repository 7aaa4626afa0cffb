"""Folders of parallel text as users have them, of a few sentences of the embedded languages."""

import gzip
import zipfile
from collections.abc import Iterable
from pathlib import Path

from support.layouts.sentences import sentence


def lines(language: str, numbers: Iterable[int]) -> str:
    """Sentences of these numbers, one a line."""
    return "".join(f"{sentence(language, number)}\n" for number in numbers)


def write(folder: Path, **files: str) -> Path:
    """Files by name, `_` for a point, `__` for a hyphen, `___` for a slash; gzip by the ending."""
    for name, text in files.items():
        name = name.replace("___", "/").replace("__", "-").replace("_", ".")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def write_parallel(folder: Path, name: str, languages: str, numbers: Iterable[int]) -> Path:
    """One file a language, NAME.LANGUAGE."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = [*numbers]
    for language in languages.split():
        (folder / f"{name}.{language}").write_text(lines(language, numbers), encoding="utf-8")
    return folder


def write_kind(folder: Path, kind: str, rows: int) -> Path:
    """The same text in one of four kinds: multi30k, tsv, opus, pair."""
    folder.mkdir(parents=True)
    if kind == "multi30k":
        for start, split in enumerate(("train", "val", "test_2016_flickr")):
            size = rows if split == "train" else 12
            for language in ("en", "de", "fr"):
                text = lines(language, range(start * 10_000, start * 10_000 + size))
                (folder / f"{split}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    elif kind == "tsv":
        numbers = range(rows)
        table = [f"{sentence('de', n)}\t{sentence('en', n)}\n" for n in numbers]
        (folder / "de-en.tsv").write_text("".join(table), encoding="utf-8")
    elif kind == "opus":
        with zipfile.ZipFile(folder / "cs-en.txt.zip", "w") as archive:
            archive.writestr("README", "about")
            archive.writestr("Books.cs-en.ids", "1\t1\n" * rows)
            for language in ("cs", "en"):
                archive.writestr(f"Books.cs-en.{language}", lines(language, range(rows)))
        for language in ("de", "en"):
            (folder / f"Books.de-en.{language}").write_text(lines(language, range(rows)))
        (folder / "LICENSE").write_text("free")
    else:
        write_parallel(folder, "news", "de en", range(rows))
    return folder
