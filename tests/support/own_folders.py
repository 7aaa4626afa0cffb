"""Folders of parallel text as users have them, for `tdo start` and `tdo prepare --from`."""

from collections.abc import Iterable
from pathlib import Path

from support.layouts.packing import numbered, put, sides, text, zip_archive, zipped
from support.layouts.sentences import rows, sentence

SIZES = {"train": (0, 60), "valid": (500, 8), "test": (600, 7)}
THREE = ("en", "de", "fr")
SMALL = ("--vocab-size", "300", "--workers", "1")


def write(folder: Path, **files: str) -> Path:
    """Files by name, `_` for a point, `__` for a hyphen, `___` for a slash; gzip by the ending."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        name = name.replace("___", "/").replace("__", "-").replace("_", ".")
        data = content.encode()
        put(folder, name, zipped(data) if name.endswith(".gz") else data)
    return folder


def write_parallel(folder: Path, name: str, languages: str, numbers: Iterable[int]) -> Path:
    """One file a language, NAME.LANGUAGE."""
    numbers = [*numbers]
    for language in languages.split():
        put(folder, f"{name}.{language}", numbered(language, numbers))
    return folder


def write_kind(folder: Path, kind: str, size: int) -> Path:
    """The same text in one of four kinds: multi30k, tsv, opus, pair."""
    if kind == "multi30k":
        for start, split in enumerate(("train", "val", "test_2016_flickr")):
            numbers = range(start * 10_000, start * 10_000 + (size if split == "train" else 12))
            for language in ("en", "de", "fr"):
                put(folder, f"{split}.{language}.gz", zipped(numbered(language, numbers)))
    elif kind == "tsv":
        put(folder, "de-en.tsv", text("\t".join(row) for row in rows("de-en", range(size))))
    elif kind == "opus":
        members = {"README": b"about", "Books.cs-en.ids": b"1\t1\n" * size}
        members |= sides("Books.cs-en", "cs-en", rows("cs-en", range(size)))
        put(folder, "cs-en.txt.zip", zip_archive(members))
        write_parallel(folder, "Books.de-en", "de en", range(size))
        put(folder, "LICENSE", b"free")
    else:
        write_parallel(folder, "news", "de en", range(size))
    return folder


def write_own(folder: Path, form: str) -> Path:
    """The same text as files of pairs, as a gzip file for each language, or as a table."""
    for split, (first, size) in SIZES.items():
        numbers = range(first, first + size)
        if form == "table":
            table = ["\t".join(sentence(language, n) for language in THREE) for n in numbers]
            put(folder, f"{split}.tsv", text(["\t".join(THREE), *table]))
        elif form == "gzip":
            for language in THREE:
                put(folder, f"{split}.{language}.gz", zipped(numbered(language, numbers)))
        else:
            for pair in ("en de", "en fr", "de fr")[: 3 if split == "test" else 2]:
                write_parallel(folder, f"{split}.{pair.replace(' ', '-')}", pair, numbers)
    return folder
