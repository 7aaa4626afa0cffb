"""Validation text for pairs without training text, joined through a shared language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from tdo_plugin.data.textfolder import Pair, TextFolder, read_lines
from tdo_plugin.runtime.files import write_text

Sides = dict[str, Path]  # the files of a validation set by language


def join_valids(
    folder: TextFolder, least: int, out: Path
) -> Iterator[tuple[Pair, tuple[Path, Path]]]:
    """Write a validation set for each pair without one, if two trained pairs provide it.

    A line of valid.en-de and a line of valid.en-fr with the same English make a German-French pair;
    repeated lines are matched in order. If several languages connect the two, the one with the
    most matches is used.

    Args:
        folder: the corpus.
        least: minimum number of lines, since a few short lines match in any two texts.
        out: where the files are written, as `valid.de-fr.de` and `valid.de-fr.fr`.

    Returns:
        Each new pair, with its two files.
    """
    valids = dict(folder.valids())
    sides: dict[str, dict[str, Sides]] = {}
    for pair in folder.pairs:
        named = pair if pair in valids else pair[::-1]
        if named in valids:
            files = dict(zip(named, valids[named], strict=True))
            for language, partner in (pair, pair[::-1]):
                sides.setdefault(language, {})[partner] = files
    covered = {frozenset(pair) for pair in (*folder.pairs, *valids)}
    for first, second in combinations(sides, 2):
        if frozenset((first, second)) in covered:
            continue
        joined = [
            joined_lines((first, sides[first][between]), (second, sides[second][between]), between)
            for between in sides[first]
            if between in sides[second]
        ]
        lines = max(joined, key=len, default=[])
        if len(lines) >= least:
            paths = [out / f"valid.{first}-{second}.{language}" for language in (first, second)]
            for path, side in zip(paths, zip(*lines, strict=True), strict=True):
                write_text(path, side)
            yield (first, second), (paths[0], paths[1])


def joined_lines(
    first: tuple[str, Sides], second: tuple[str, Sides], between: str
) -> list[tuple[str, str]]:
    """Pairs of lines of two languages whose lines in `between` are equal."""
    tables: list[dict[tuple[str, int], str]] = []
    for language, files in (first, second):
        keys = _numbered(read_lines(files[between]))
        tables.append(dict(zip(keys, read_lines(files[language]), strict=True)))
    return [
        (line, tables[1][key]) for key, line in tables[0].items() if key[0] and key in tables[1]
    ]


def _numbered(lines: Iterator[str]) -> Iterator[tuple[str, int]]:
    """Each line, stripped, with the number of its occurrence."""
    seen: Counter[str] = Counter()
    for line in lines:
        key = line.strip()
        seen[key] += 1
        yield key, seen[key]
