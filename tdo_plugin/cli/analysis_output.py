"""What an analysis has to show, and how it is printed and written."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from tdo_plugin.evaluation.report.report_files import write_rows
from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table, number
from tdo_plugin.evaluation.report.text_tables import terminal

SUFFIXES = (".png", ".svg")


@dataclass(frozen=True)
class Numbers:
    """A CSV file: headings, and rows of names and numbers; one that is not a number stays blank."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Analysis:
    """What was found.

    Attributes:
        tables: to print.
        remarks: below them.
        numbers: by name of the file, without its suffix.
        pictures: what draws each to paths, by name of the files, without their suffixes.
    """

    tables: Sequence[Table]
    remarks: Sequence[str]
    numbers: Mapping[str, Numbers]
    pictures: Mapping[str, Callable[[Sequence[Path]], None]]


def show(analysis: Analysis) -> None:
    """Print the tables, and how to read them."""
    width = shutil.get_terminal_size((100, 24)).columns
    for table in analysis.tables:
        print(table.title, "", terminal(table, width, bold=False), "", sep="\n")
    for line in analysis.remarks:
        print(line)


def write(analysis: Analysis, out: Path, figures: bool) -> Iterator[Path]:
    """Write all files, each of which appears only complete; yields each path."""
    for name, numbers in analysis.numbers.items():
        path = out / f"{name}.csv"
        write_rows(path, numbers.head, ([*map(_entry, row)] for row in numbers.rows))
        yield path
    for name, draw in analysis.pictures.items() if figures else ():
        paths = [out / f"{name}{suffix}" for suffix in SUFFIXES]
        draw(paths)
        yield from paths


def cell(value: float, digits: int, signed: bool = False) -> Cell:
    """A rounded number; a dash where it is none."""
    return Cell(ABSENT) if math.isnan(value) else Cell(number(value, digits, signed), value)


def matrix(title: str, values: Tensor, names: Sequence[str]) -> Table:
    """A table of each name with each other one."""
    rows = [
        Row((name,), tuple(cell(value, 2) for value in line))
        for name, line in zip(names, values.tolist(), strict=True)
    ]
    columns = tuple(Column("", name) for name in names)
    return Table("matrix", title, ("",), columns, (Block(tuple(rows)),))


def _entry(value: object) -> object:
    return "" if isinstance(value, float) and math.isnan(value) else value
