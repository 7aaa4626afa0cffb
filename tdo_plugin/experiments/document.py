"""The contents of an experiment file; docs/reproduce/experiments.md describes the format."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Values = dict[str, Any]
CONDITION = "scale"  # the condition that every file has, besides its options
OVERRIDES = (
    "let",
    "flags",
    "test",
)  # keys of a [[when]] with values; its other keys are conditions


@dataclass(frozen=True)
class When:
    """Overrides that apply if options have certain values.

    Attributes:
        conditions: for each option, the values with which the override applies.
        let: variables and their values.
        flags: fairseq-train flags; false removes a flag.
        test: options of `tdo average` that make the tested checkpoint.
    """

    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    let: Values = field(default_factory=dict)
    flags: Values = field(default_factory=dict)
    test: str | None = None

    def holds(self, options: Mapping[str, Collection[str]]) -> bool:
        """Whether all conditions are met: each option has one of its condition's values."""
        return all(
            any(value in options[name] for value in values)
            for name, values in self.conditions.items()
        )


@dataclass(frozen=True)
class System:
    """A system, or a part of composed system names.

    Attributes:
        base: parts that are applied before this part.
        corpus: the training corpus.
        let: variables and their values.
        flags: fairseq-train flags, and `gpus`, `precision` and `directions`.
        when: conditional overrides.
        continues: `restore` or `finetune`: how to start from the checkpoint of the system before
            this part, which is trained first.
        test: options of `tdo average` that make the tested checkpoint.
        scales: scales at which the system exists; empty for all.
    """

    base: tuple[str, ...] = ()
    corpus: str | None = None
    let: Values = field(default_factory=dict)
    flags: Values = field(default_factory=dict)
    when: tuple[When, ...] = ()
    continues: str | None = None
    test: str | None = None
    scales: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scale:
    """A size at which all experiments of a file can be run.

    Attributes:
        help: one line of description.
        base: the scale that this scale modifies.
        let: variables and their values.
        flags: fairseq-train flags that override those of every system.
        test: as in `System`.
        score: options of `tdo score`.
        translate: options of `tdo translate`.
        detector: `lid.176` to detect languages with a downloaded lid.176.
        label: template for row labels over the row's {label}.
    """

    help: str = ""
    base: str | None = None
    let: Values = field(default_factory=dict)
    flags: Values = field(default_factory=dict)
    test: str | None = None
    score: str | None = None
    translate: str | None = None
    detector: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class Option:
    """An option of the file's experiments, `--NAME` on the command line, {NAME} in templates.

    Attributes:
        help: the help text.
        choices: allowed values; empty for any.
        default: the default value, or values by scale. A list makes one row per value out of each
            row that the option affects.
        scales: scales at which the option may be given; empty for all.
        labels: for each value, the suffix of the label of a row that the option affects.
    """

    help: str = ""
    choices: tuple[str, ...] = ()
    default: Any = ""
    scales: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Input:
    """A file or folder given by the user, `--NAME PATH`; {input.NAME} in templates.

    Attributes:
        help: the help text.
        option: an option that precedes the path in {input.NAME}, such as --from-file;
            {input.NAME} is empty if no path is given.
        needed: whether steps that refer to the input require it.
        scales: scales at which the input may be given; empty for all.
    """

    help: str = ""
    option: str = ""
    needed: bool = False
    scales: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """A data folder.

    Attributes:
        make: the commands that make the data folder {data}, or commands by scale; {text} is a
            folder next to it.
        data: an existing data folder, such as {input.data}, instead of `make`.
        let: variables and their values, for the commands.
        estimate: options of `tdo estimate` for training on the corpus, or options by scale.
    """

    make: Any = ()
    data: str = ""
    let: Values = field(default_factory=dict)
    estimate: Any = ""


@dataclass(frozen=True)
class Made:
    """A file or folder that a command makes for a system.

    Attributes:
        at: path below the run folder; equal paths are made once.
        make: the commands; {out} is the path.
        beside: paths of further files that the commands write.
    """

    at: str
    make: Any
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A row of a table; by default, its name in the file is its system.

    Attributes:
        label: the label in the table.
        system: the system that translates.
        rows: a list with one such row per value, {row} in its templates.
        each: a list with one system of the row per value, {each} in templates.
        directions: directions to translate (default: the table's).
        path: a checkpoint to use instead of the system's tested checkpoint.
        translate: further options of `tdo translate`; the output then has a separate folder.
        published: the row's name in the published table (default: its label).
    """

    label: str = ""
    system: str | None = None
    rows: Any = None
    each: Any = None
    directions: str | None = None
    path: str | None = None
    translate: str = ""
    published: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure or other output that commands make from a table's rows.

    Attributes:
        make: one or several commands; {out} is the output path, {scores} the score sheet, {each}
            the arguments of the rows. Their standard output goes to {out}.txt.
        out: path below the table's folder.
        each: template for a row's argument; rows with an empty argument are skipped, and nothing is
            drawn if all are empty.
        rows: patterns of row names (default: all).
        baseline: patterns of the name of the row to compare with, {baseline} its label; nothing is
            drawn if no row matches.
        at: a list with one drawing per value, {at} in templates.
        scales: scales at which to draw; empty for all.
        only: template; draw only if it is true.
        least: minimum number of rows; 0 for tables without rows.
        seeds: whether each training of a row has an argument; else only the first.
        per_seed: whether to draw each training separately; from the second seed on, +seed=N is
            appended to `out`.
    """

    make: Any
    out: str
    each: str = ""
    rows: tuple[str, ...] = ("*",)
    baseline: tuple[str, ...] = ()
    at: Any = None
    scales: tuple[str, ...] = ()
    only: Any = True
    least: int = 1
    seeds: bool = False
    per_seed: bool = False


@dataclass(frozen=True)
class Table:
    """A table or a figure.

    Attributes:
        title: the title.
        rows: the rows by name.
        axes: axes that span a grid: all combinations of their values make further rows of `system`,
            the last axis varying fastest. Such a table is also shown as a grid
            (`tdo report --cells`).
        system: the system of the grid, or a list of several.
        label: template for the labels of cells over the axes' names.
        cells: another table, whose rows and scores this table shows as a grid.
        best: axes for which the best cell for each value is shown; with `cells`, only these.
        mean_over: an axis to average over.
        groups: groups or directions to show for cells (default: the mean of all directions); the
            first metric of the first group determines the best cell.
        measure: `test`, or `validation` for the scores that training measured on validation
            sets, without translating.
        note: a note below the tables of cells.
        directions: directions to translate and score.
        baseline: pattern of the name of the row to compare with (default: the first row).
        published: the paper's table to compare with, PAPER:TABLE; empty for none.
        published_row: template over the axes' names for a cell's row in the published table, or
            with `cells` for the row of a value of `best`.
        score: further options of `tdo score`; false: translate and score nothing.
        draw: the drawings.
        twins: whether to show rows with identical training runs.
        scales: scales at which the table exists; empty for all.
        headline: patterns of the rows that show the paper's main result. A paper has one table
            with such rows, which `tdo reproduce all` makes.
        headline_updates: updates per training for `tdo reproduce all`, by scale (default: the
            scale's).
    """

    title: str = ""
    rows: dict[str, Row] = field(default_factory=dict)
    axes: tuple[str, ...] = ()
    system: Any = ""
    label: str = ""
    cells: str = ""
    best: tuple[str, ...] = ()
    mean_over: str = ""
    groups: tuple[str, ...] = ()
    measure: str = "test"
    note: str = ""
    directions: str = "all"
    baseline: str | None = None
    published: str | None = None
    published_row: str = ""
    score: Any = ""
    draw: tuple[Drawing, ...] = ()
    twins: bool = False
    scales: tuple[str, ...] = ()
    headline: tuple[str, ...] = ()
    headline_updates: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """An experiment file.

    Attributes:
        title: the title.
        path: the file.
        name: its name.
        recommended: the system that stands for a run (default: the run's only system).
        draw: applies to each of its tables.
    """

    title: str
    path: Path
    name: str
    recommended: str = ""
    protocol: str = ""
    published: str = ""
    let: Values = field(default_factory=dict)
    flags: Values = field(default_factory=dict)
    when: tuple[When, ...] = ()
    options: dict[str, Option] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    scales: dict[str, Scale] = field(default_factory=dict)
    corpora: dict[str, Corpus] = field(default_factory=dict)
    made: dict[str, Made] = field(default_factory=dict)
    axes: dict[str, dict[str, System]] = field(default_factory=dict)
    systems: dict[str, System] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    draw: tuple[Drawing, ...] = ()
