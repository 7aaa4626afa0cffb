"""Test sets of pairs without training text, joined over sentences that two test sets share."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from tdo_plugin.data.joining import joined_lines
from tdo_plugin.runtime.files import write_text
from tdo_plugin.start.recognised_text import Pair

LEAST = 50  # minimum number of shared sentences: any two texts share a few short ones


def join_tests(folder: Path, languages: Iterable[str]) -> list[tuple[Pair, str, int]]:
    """Write test.de-fr.* from rows of test.de-en.* and test.en-fr.* with equal English sides.

    Args:
        folder: folder with the test sets of pairs, as plain files.
        languages: languages whose pairs should have a test set.

    Returns:
        Pair, pivot language and number of rows of each set that was written.
    """
    sides: dict[tuple[str, str], dict[str, Path]] = {}
    for path in sorted(folder.glob("test.*-*.*")):
        pair = path.name.split(".")[1].split("-")
        for language, partner in (pair, pair[::-1]):
            sides.setdefault((language, partner), {})[path.name.split(".")[2]] = path
    joined = []
    ordered = sorted(languages)
    for first, second in combinations(ordered, 2):
        if (first, second) in sides:
            continue
        rows = {
            between: joined_lines(
                (first, sides[first, between]), (second, sides[second, between]), between
            )
            for between in ordered
            if (first, between) in sides and (second, between) in sides
        }
        between = max(rows, key=lambda code: len(rows[code]), default="")
        if len(rows.get(between, ())) >= LEAST:
            for language, lines in zip(
                (first, second), zip(*rows[between], strict=True), strict=True
            ):
                write_text(folder / f"test.{first}-{second}.{language}", lines)
            joined.append(((first, second), between, len(rows[between])))
    return joined
