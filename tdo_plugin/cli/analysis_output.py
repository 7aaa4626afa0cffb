"""The results of an analysis, and how they are printed and written."""

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
    """A CSV file: column names, and rows of names and numbers; NaN becomes an empty field."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Analysis:
    """The results of an analysis.

    Attributes:
        tables: tables to print.
        remarks: lines to print below the tables.
        numbers: CSV files by name, without suffix.
        pictures: a function that draws each figure to given paths, by file name without suffix.
    """

    tables: Sequence[Table]
    remarks: Sequence[str]
    numbers: Mapping[str, Numbers]
    pictures: Mapping[str, Callable[[Sequence[Path]], None]]


def show(analysis: Analysis) -> None:
    """Print the tables and the remarks below them."""
    width = shutil.get_terminal_size((100, 24)).columns
    for table in analysis.tables:
        print(table.title, "", terminal(table, width, bold=False), "", sep="\n")
    for line in analysis.remarks:
        print(line)


def write(analysis: Analysis, out: Path, figures: bool) -> Iterator[Path]:
    """Write all files, each atomically, and yield each path."""
    for name, numbers in analysis.numbers.items():
        path = out / f"{name}.csv"
        write_rows(path, numbers.head, ([*map(_entry, row)] for row in numbers.rows))
        yield path
    for name, draw in analysis.pictures.items() if figures else ():
        paths = [out / f"{name}{suffix}" for suffix in SUFFIXES]
        draw(paths)
        yield from paths


def cell(value: float, digits: int, signed: bool = False) -> Cell:
    """A rounded number, or a dash for NaN."""
    return Cell(ABSENT) if math.isnan(value) else Cell(number(value, digits, signed), value)


def matrix(title: str, values: Tensor, names: Sequence[str]) -> Table:
    """A square table of values between all pairs of names."""
    rows = [
        Row((name,), tuple(cell(value, 2) for value in line))
        for name, line in zip(names, values.tolist(), strict=True)
    ]
    columns = tuple(Column("", name) for name in names)
    return Table("matrix", title, ("",), columns, (Block(tuple(rows)),))


def _entry(value: object) -> object:
    return "" if isinstance(value, float) and math.isnan(value) else value
