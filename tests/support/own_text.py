"""Parallel text of one's own, in the forms that `tdo prepare --from` takes."""

import gzip
from pathlib import Path

from support.layouts.sentences import sentence

SIZES = {"train": (0, 60), "valid": (500, 8), "test": (600, 7)}
THREE = ("en", "de", "fr")
SMALL = ("--vocab-size", "300", "--workers", "1")


def write_own(folder: Path, form: str) -> Path:
    """The same text as files of pairs, as a gzip file for each language, or as a table."""
    folder.mkdir()
    for split, (first, size) in SIZES.items():
        numbers = range(first, first + size)
        columns = {
            language: [sentence(language, number) for number in numbers] for language in THREE
        }
        if form == "table":
            table = [THREE, *zip(*columns.values(), strict=True)]
            _write(folder / f"{split}.tsv", ["\t".join(row) for row in table])
        elif form == "gzip":
            for language, lines in columns.items():
                _write(folder / f"{split}.{language}.gz", lines)
        else:
            pairs = [("en", "de"), ("en", "fr"), ("de", "fr")][: 3 if split == "test" else 2]
            for pair in pairs:
                for language in pair:
                    _write(folder / f"{split}.{'-'.join(pair)}.{language}", columns[language])
    return folder


def _write(path: Path, lines: list[str]) -> None:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
