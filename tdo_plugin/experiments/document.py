"""What may stand in a file of experiments; docs/reproduce/experiments.md describes the format."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Values = dict[str, Any]
CONDITION = "scale"  # the one that every file has, beside its options
OVERRIDES = ("let", "flags", "test")  # what a [[when]] may say; its other keys are conditions


@dataclass(frozen=True)
class When:
    """What is otherwise where options have certain values.

    Attributes:
        conditions: by option, the values of which one must be the option's.
        let: names and their values.
        flags: of fairseq-train; false takes one away.
        test: options of `tdo average` that make the tested checkpoint.
    """

    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    let: Values = field(default_factory=dict)
    flags: Values = field(default_factory=dict)
    test: str | None = None

    def holds(self, options: Mapping[str, Collection[str]]) -> bool:
        """Whether all conditions are met: of each name one of the values that it has."""
        return all(
            any(value in options[name] for value in values)
            for name, values in self.conditions.items()
        )


@dataclass(frozen=True)
class System:
    """A system, or a part of systems' names.

    Attributes:
        base: parts that come before it.
        corpus: what it is trained on.
        let: names and their values.
        flags: of fairseq-train, `gpus`, `precision` and `directions` among them.
        when: what is otherwise under conditions.
        continues: `restore` or `finetune`: the system without this part and those behind it is
            trained first, and how its training goes on.
        test: options of `tdo average` that make the tested checkpoint.
        scales: those that have it; all where there are none.
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
    """A size of all experiments of a file.

    Attributes:
        help: what it is, in a line.
        base: the scale that it changes.
        let: names and their values.
        flags: behind those of every system.
        test: as a system's.
        score: options of `tdo score`.
        translate: options of `tdo translate`.
        detector: `lid.176` where that tells languages apart wherever a download has left it.
        label: of a row, a template over its own {label}.
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
        help: what it says.
        choices: values that it may have; any where there are none.
        default: its value, or its values by scale. A list makes of a row in which it changes
            something one for each value.
        scales: those at which it may be given; all where there are none.
        labels: by value, what stands behind the name of such a row.
    """

    help: str = ""
    choices: tuple[str, ...] = ()
    default: Any = ""
    scales: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Input:
    """A file or folder that the user gives, `--NAME PATH`; {input.NAME} in templates.

    Attributes:
        help: what it is.
        option: words before the path in {input.NAME}, such as --from-file; without them, and where
            nothing is given, it is empty.
        needed: whether what refers to it cannot do without.
        scales: those at which it may be given; all where there are none.
    """

    help: str = ""
    option: str = ""
    needed: bool = False
    scales: tuple[str, ...] = ()


@dataclass(frozen=True)
class Corpus:
    """A data folder.

    Attributes:
        make: the commands that make it, or those of each scale; {data} is the folder, {text} one
            beside it.
        data: a data folder that is there, such as {input.data}, instead of `make`.
        let: names and their values, for its commands.
        estimate: options of `tdo estimate` for what is trained on it, or those of each scale.
    """

    make: Any = ()
    data: str = ""
    let: Values = field(default_factory=dict)
    estimate: Any = ""


@dataclass(frozen=True)
class Made:
    """A file or folder that a command makes for a system.

    Attributes:
        at: its place below the run's folder. What has the same place is made once.
        make: the commands; {out} is the place.
        beside: further files that they write, places too.
    """

    at: str
    make: Any
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A row of a table: its name in the file is its system's, where nothing else is said.

    Attributes:
        label: how the table calls it.
        system: what is translated with.
        rows: a list, for each value of which there is such a row, {row} in its templates.
        each: a list, for each value of which there is a system of the row, {each} in templates.
        directions: what is translated, where it is not what the table says.
        path: a checkpoint instead of the system's tested one.
        translate: further options of `tdo translate`; its output is a folder of its own then.
        published: its name in the published table beside cells of axes (default: its label).
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
    """What a command makes of a table's rows.

    Attributes:
        make: the command, or several; {out} is where, {scores} the score sheet, {each} the words of
            the rows. What they print is beside it, in {out}.txt.
        out: its place below the table's folder.
        each: a row's word; a row for which it is empty is left out, and where it is for all of them
            nothing is drawn.
        rows: patterns of names of rows (default: all).
        baseline: patterns of the name of a row that others are compared with, {baseline} its
            label; where none fits nothing is drawn.
        at: a list, for each value of which it is drawn, {at} in templates.
        scales: those at which it is drawn; all where there are none.
        only: drawn where this is true; a template.
        least: rows that there must be; 0 for tables without rows.
        seeds: whether each training of a row has a word; else the first one.
        per_seed: whether it is drawn of each training by itself; +seed=N ends its place from the
            second on.
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
        title: what it shows.
        rows: by name.
        axes: those whose values, all with all, make further rows of `system`, the last axis
            fastest. Such a table is shown by its axes too (`tdo report --cells`).
        system: of these rows, or a list of several.
        label: of these rows, a template over the axes' names.
        cells: another table, whose rows and scores this one shows by its axes.
        best: axes, for each value of which the best cell is shown; with `cells` nothing else is.
        mean_over: an axis, over whose values there are means.
        groups: groups or directions that are shown of cells (default: all directions as one); by
            the first metric of the first it is said which is best.
        measure: `test`, or `validation`: the scores are those that the trainings measured on
            validation sets, and nothing is translated.
        note: what stands below tables of cells.
        directions: what is translated and scored.
        baseline: pattern of the label that others are compared with (default: the first).
        published: the paper's table beside it, PAPER:TABLE; empty for none.
        published_row: the name of a cell's row there, or with `cells` of a value's of `best`, a
            template over the axes' names.
        score: further options of `tdo score`; false: nothing is translated or scored.
        draw: what is drawn.
        twins: whether rows that come to the same training are shown.
        scales: those that have it; all where there are none.
        headline: patterns of the rows that show what the paper found. A paper has one table with
            such rows, which `tdo reproduce all` makes.
        headline_updates: updates of a row in what that makes, by scale (default: the scale's).
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
    """A file of experiments; `draw` is drawn of each of its tables."""

    title: str
    path: Path
    name: str
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
