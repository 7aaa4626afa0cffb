"""Tables: their rows at a scale, and the steps from these to reports and drawings."""

from __future__ import annotations

import fnmatch
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.document import Drawing, Row, Table
from tdo_plugin.experiments.expressions import Scope, as_text
from tdo_plugin.experiments.steps import Command, Step
from tdo_plugin.experiments.systems import SEED, Setting

if TYPE_CHECKING:
    from tdo_plugin.experiments.plan import Plan

DRAWN_WITH_MODELS = frozenset({"preference", "probe"})  # `tdo analyze`'s that compute on a device


@dataclass(frozen=True)
class TableRow:
    """A row at a scale.

    Attributes:
        name: its name in the file, with what `rows` and options of several values add.
        label: how the table calls it.
        parts: systems that translate for it, each with what it translates, a checkpoint instead
            of its tested one, and further options of `tdo translate`.
        own: whether its output has a folder of its own.
    """

    name: str
    label: str
    parts: tuple[Part, ...]
    own: bool

    @property
    def systems(self) -> tuple[str, ...]:
        """Of its parts."""
        return tuple(part.system for part in self.parts)

    def with_seed(self, seed: int, seeds: int) -> TableRow:
        """The row of one of so many trainings."""
        if seeds == 1:
            return self
        suffix = f"+{SEED}={seed}" if seed > 1 else ""
        parts = tuple(replace(part, system=part.system + suffix) for part in self.parts)
        return replace(
            self, name=self.name + suffix, label=f"{self.label}, seed {seed}", parts=parts
        )


@dataclass(frozen=True)
class Part:
    """A system that translates for a row; see there."""

    system: str
    directions: str
    path: str | None
    translate: str
    names: Mapping[str, Any]


def rows_of(plan: Plan, name: str, patterns: Sequence[str]) -> tuple[list[TableRow], list[str]]:
    """A table's rows, and the names of those that this scale is without.

    Raises:
        UserError: a pattern fits no row, or there is no row at this scale.
    """
    setting, table = plan.setting, plan.setting.document.tables[name]
    every = list(_described(setting, name, table))
    chosen = [row for row in every if not patterns or _fits(row[0], patterns)]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(row[0], pattern) for row in every):
            names = ", ".join(row[0] for row in every)
            raise UserError(f"`--rows` must be of {names}; {pattern} is none of them")
    rows: list[TableRow] = []
    left_out: list[str] = []
    for key, row, names in chosen:
        found = list(_rows(plan, table, key, row, names))
        rows += found
        if not found:
            left_out.append(key)
    if not rows:
        raise UserError(
            f"`--rows` must be of rows that there are at the scale {setting.scale}; "
            f"{', '.join(left_out)} are not"
        )
    return (rows if table.twins else _without_twins(plan, rows)), left_out


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _described(
    setting: Setting, name: str, table: Table
) -> Iterator[tuple[str, Row, dict[str, Any]]]:
    """The rows as they stand in the file, each value of `rows` and each cell of axes by itself."""
    scope = setting.scope({}, f"{setting.document.path.name}, tables.{name}")
    for key, row in table.rows.items():
        if row.rows is None:
            yield key, row, {}
            continue
        for value in scope.value(row.rows):
            own = scope.with_values(row=value)
            yield own.text(key), row, {"row": value}
    axes = [list(setting.document.axes[axis]) for axis in table.axes]
    for values in product(*axes) if axes else ():
        cell = dict(zip(table.axes, values, strict=True))
        parts = "".join(f"+{axis}={value}" for axis, value in cell.items())
        yield table.system + parts, Row(table.label), cell


def _rows(
    plan: Plan, table: Table, key: str, row: Row, names: Mapping[str, Any]
) -> Iterator[TableRow]:
    """The row, once for each of an option's values that make a difference to it.

    A value that comes to the same as the option's first one has no place in the name. The label
    says which value it is where the option has several by default that differ.
    """
    seen: dict[str, TableRow] = {}
    several = plan.setting.several
    options = plan.setting.document.options

    def differ(option: str, values: Sequence[Any]) -> bool:
        found = [
            _row(plan, table, key, row, names, f"+{option}={as_text(value)}") for value in values
        ]
        return len({identity(plan, made) for made in found if made}) > 1

    for values in product(*several.values()):
        suffix = labels = ""
        for option, value in zip(several, values, strict=True):
            usual = plan.setting.of_scale(options[option].default)
            named = differ(option, [options[option].choices[0], value])
            if named:
                suffix += f"+{option}={as_text(value)}"
            if named or differ(option, [*usual, value] if isinstance(usual, list) else [value]):
                labels += options[option].labels.get(as_text(value), "")
        found = _row(plan, table, key, row, names, suffix)
        if found is None:
            return
        seen.setdefault(suffix, replace(found, label=found.label + labels))
    yield from seen.values()


def _row(
    plan: Plan, table: Table, key: str, row: Row, names: Mapping[str, Any], suffix: str
) -> TableRow | None:
    setting = plan.setting
    where = f"{setting.document.path.name}, row {key}"
    outer = setting.scope({}, where).with_values(**names)
    parts = []
    scope: Scope | None = None
    for value in outer.value(row.each) if row.each is not None else (None,):
        local = {**names, **({"each": value} if row.each is not None else {})}
        system = outer.with_values(**local).text(row.system or key) + suffix
        resolved = plan.system(system)
        if not resolved.here:
            return None
        scope = scope or resolved.scope.with_values(**names)
        directions = outer.with_values(**local).text(row.directions or table.directions)
        parts.append(Part(system, directions, row.path, row.translate, local))
    if scope is None:
        return None
    label = scope.text(row.label or key)
    if template := setting.said("label"):
        label = scope.with_values(label=label).text(template)
    own = bool(row.path or row.translate or row.each is not None)
    return TableRow(key + suffix, label, tuple(parts), own)


def systems_of(plan: Plan) -> Iterator[str]:
    """The systems of all tables that there are at this scale, of each row all seeds."""
    for name, table in plan.setting.document.tables.items():
        if plan.setting.has(table.scales):
            for key, description, names in _described(plan.setting, name, table):
                for row in _rows(plan, table, key, description, names):
                    for seed in range(1, plan.seeds + 1):
                        yield from row.with_seed(seed, plan.seeds).systems


def identity(plan: Plan, row: TableRow) -> Any:
    """What a row comes to, whatever it is called."""
    return tuple(
        (
            plan.twins.test(part.system),
            part.directions,
            *(
                plan.twins.text(part.system, text, part.names)
                for text in (part.path or "", part.translate)
            ),
        )
        for part in row.parts
    )


def _without_twins(plan: Plan, rows: Sequence[TableRow]) -> list[TableRow]:
    """Of rows that come to the same the first: where layers are few, a sweep has some."""
    kept: dict[Any, TableRow] = {}
    for row in rows:
        kept.setdefault(identity(plan, row), row)
    return list(kept.values())


class PlannedTable:
    """A table at a scale.

    Attributes:
        rows: its rows.
        left_out: rows that this scale is without.
        goals: names of the steps that make it.
    """

    def __init__(self, plan: Plan, name: str, patterns: Sequence[str] = ()) -> None:
        self.plan, self.name = plan, name
        self.table = plan.setting.document.tables[name]
        self.rows, self.left_out = rows_of(plan, name, patterns)
        self.folder = plan.graph.run / name
        scored = self.table.score is not False
        self.goals = [self._report()] if scored else []
        self.goals += [
            goal
            for number, drawing in enumerate(self.table.draw)
            for goal in self._drawings(drawing, number)
            if plan.setting.has(drawing.scales)
        ]

    def _seeded(self) -> list[TableRow]:
        seeds = self.plan.seeds
        return [row.with_seed(seed, seeds) for row in self.rows for seed in range(1, seeds + 1)]

    def block_of(self, row: TableRow) -> str:
        """Which rows it is compared with."""
        system = self.plan.system(row.systems[0])
        return as_text(system.scope["block"]) if "block" in system.scope else system.corpus

    def blocks(self) -> list[str]:
        """Of the rows, each once."""
        return list(dict.fromkeys(map(self.block_of, self.rows)))

    def sheet(self, block: str) -> Path:
        """A block's score sheet."""
        folder = self.folder if len(self.blocks()) == 1 else self.folder / block
        return folder / "scores.json"

    def _report(self) -> str:
        needs = [self._scores(block) for block in self.blocks()]
        sheets = [str(self.sheet(block)) for block in self.blocks()]
        words = ["report", *sheets, "--out", str(self.folder)]
        published = self.table.published
        if (
            published is None
            and self.name.startswith("table")
            and self.plan.setting.document.published
        ):
            published = f"{self.plan.setting.document.published}:{self.name.removeprefix('table')}"
        if published:
            words += ["--published", published]
        step = Step(f"{self.name}/report", "report", (tuple(words),), tuple(needs))
        return self.plan.graph.add(step)

    def _scores(self, block: str) -> str:
        rows = [row for row in self._seeded() if self.block_of(row) == block]
        systems: list[str] = []
        needs: list[str] = []
        for row in rows:
            for part in row.parts:
                step, folder = self._translation(row, part)
                needs.append(step)
                systems.append(f"{row.label}={folder}")
        data = self.plan.folder(self.plan.system(rows[0].systems[0]).corpus) / "data"
        sheet = self.sheet(block)
        setting, document = self.plan.setting, self.plan.setting.document
        words = ["score", *dict.fromkeys(systems), "--data", str(data), "--out", str(sheet.parent)]
        if document.protocol:
            words += ["--protocol", document.protocol]
        scope = setting.scope({}, f"tables.{self.name}")
        words += ["--directions", scope.text(self.table.directions)]
        words += ["--baseline", self._baseline([row.label for row in rows])]
        words += shlex.split(scope.text(setting.said("score") or ""))
        words += shlex.split(scope.text(self.table.score))
        words += self.plan.inputs.lid
        step = Step(
            f"{self.name}/{block}/scores",
            "scores",
            (tuple(words),),
            tuple(dict.fromkeys(needs)),
            (sheet,),
        )
        return self.plan.graph.add(step)

    def _baseline(self, labels: Sequence[str]) -> str:
        pattern = self.table.baseline
        fitting = [label for label in labels if pattern and fnmatch.fnmatchcase(label, pattern)]
        return (fitting or labels)[0]

    def _translation(self, row: TableRow, part: Part) -> tuple[str, Path]:
        plan = self.plan
        from tdo_plugin.experiments.plan import References, words_of

        place = row.name if row.own else plan.twins.tested_as(part.system)
        out = plan.folder(place) / "output"
        needs: list[str] = []
        references = References(plan, needs, part.system, out=out)
        scope = plan.system(part.system).scope.with_values(**part.names).referring(references)
        data = plan.folder(plan.system(part.system).corpus) / "data"
        if "--path" not in part.translate:
            path = scope.text(part.path or "{checkpoint}")
            words: tuple[str, ...] = ("--path", path)
        else:
            words = ()
        further = words_of([part.translate], scope)[0] if part.translate else ()
        document = plan.setting.document
        protocol = ("--protocol", document.protocol) if document.protocol else ()
        usual = shlex.split(scope.text(plan.setting.said("translate") or ""))
        command = (
            *("translate", str(data), *words, "--out", str(out), *protocol),
            *("--pairs", part.directions, *usual, *further),
        )
        name = f"{place}/output/{part.directions.replace('/', '-').replace('*', 'X')}"
        step = Step(name, "translation", (command,), tuple(dict.fromkeys(needs)), device="all")
        step = replace(step, place=str(out))
        if row.own:
            step = replace(step, leaves=(out,) if len(row.parts) == 1 else ())
        return plan.graph.add(step), out

    def _drawings(self, drawing: Drawing, number: int) -> Iterator[str]:
        setting = self.plan.setting
        scope = setting.scope({}, f"tables.{self.name}.draw[{number}]")
        for value in scope.value(drawing.at) if drawing.at is not None else (None,):
            names = {} if drawing.at is None else {"at": value}
            goal = self._drawing(drawing, scope.with_values(**names), names)
            if goal is not None:
                yield goal

    def _drawing(self, drawing: Drawing, scope: Scope, names: Mapping[str, Any]) -> str | None:
        from tdo_plugin.experiments.plan import References, Words, words_of

        if drawing.baseline:
            patterns = [scope.text(pattern) for pattern in drawing.baseline]
            labels = [row.label for row in self.rows if _fits(row.name, patterns)]
            if not labels:
                return None
            names = {**names, "baseline": labels[0]}
        patterns = [scope.text(pattern) for pattern in drawing.rows]
        seeds = self.plan.seeds if drawing.seeds else 1
        fitting = [row for row in self.rows if _fits(row.name, patterns)]
        needs: list[str] = []
        rows: list[TableRow] = []
        each = Words()
        for row in (row.with_seed(seed, seeds) for row in fitting for seed in range(1, seeds + 1)):
            references = References(self.plan, needs, row.systems[0])
            own = self.plan.system(row.systems[0]).scope.with_values(
                **row.parts[0].names, **names, label=row.label, name=row.name
            )
            word = own.referring(references).text(drawing.each)
            if word:
                each.append(word)
            if word or not drawing.each:
                rows.append(row)
        if len(rows) < drawing.least * seeds:
            return None
        out = self.folder / scope.text(drawing.out)
        further: dict[str, Any] = {"each": each, "out": str(out)}
        if "{scores}" in drawing.make:
            block = self.block_of(rows[0])
            needs.append(self._scores(block))
            further["scores"] = str(self.sheet(block))
        references = References(self.plan, needs, rows[0].systems[0], further=further)
        own = self.plan.system(rows[0].systems[0]).scope.with_values(**names, label=rows[0].label)
        commands = words_of(drawing.make, own.referring(references))
        device = "one" if any(DRAWN_WITH_MODELS & {*command[:2]} for command in commands) else ""
        step = Step(
            f"{self.name}/{scope.text(drawing.out)}/drawing",
            "drawing",
            commands,
            tuple(dict.fromkeys(needs)),
            device=device,
        )
        return self.plan.graph.add(step)


def printed(rows: Sequence[TableRow]) -> list[Command]:
    """Names and labels of rows, for a listing."""
    return [(row.name, row.label) for row in rows]
