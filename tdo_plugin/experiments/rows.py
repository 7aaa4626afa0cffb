"""The rows of tables at a scale, and which of them are identical."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.cells import axes_of
from tdo_plugin.experiments.document import Row, Table
from tdo_plugin.experiments.expressions import Scope, as_text
from tdo_plugin.experiments.systems import SEED, Setting

if TYPE_CHECKING:
    from tdo_plugin.experiments.plan import Plan


@dataclass(frozen=True)
class TableRow:
    """A row at a scale.

    Attributes:
        name: the row's name in the file, extended by `rows` and options with several values.
        label: the label in the table.
        parts: the systems that translate for the row.
        published: the row's name in the published table.
        values: a cell's values by axis.
    """

    name: str
    label: str
    parts: tuple[Part, ...]
    published: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems of the row's parts."""
        return tuple(part.system for part in self.parts)

    def with_seed(self, seed: int, seeds: int) -> TableRow:
        """The row for one of `seeds` training runs."""
        if seeds == 1:
            return self
        suffix = f"+{SEED}={seed}" if seed > 1 else ""
        parts = tuple(replace(part, system=part.system + suffix) for part in self.parts)
        return replace(
            self, name=self.name + suffix, label=f"{self.label}, seed {seed}", parts=parts
        )


@dataclass(frozen=True)
class Part:
    """A system that translates for a row.

    Attributes:
        system: the system's name.
        directions: directions to translate.
        path: a checkpoint to use instead of the system's tested checkpoint.
        translate: further options of `tdo translate`.
        names: variables of the row.
    """

    system: str
    directions: str
    path: str | None
    translate: str
    names: Mapping[str, Any]

    @property
    def own(self) -> bool:
        """Whether the output differs from the system's usual output and has a separate folder."""
        return bool(self.path or self.translate)


def rows_of(plan: Plan, name: str, patterns: Sequence[str]) -> tuple[list[TableRow], list[str]]:
    """A table's rows, and the names of rows that do not exist at this scale.

    Raises:
        UserError: none of the rows exists at this scale.
    """
    setting, table = plan.setting, plan.setting.document.tables[name]
    every = list(_described(setting, name, table))
    if patterns and not every:
        raise UserError(f"`--rows` must be left out with {name}, which has none; both are given")
    if table.baseline and not any(fits(row[0], [table.baseline]) for row in every):
        raise UserError(
            f"{setting.document.path.name}: tables.{name}.baseline must be a pattern of the name "
            f"of a row; {table.baseline} matches none"
        )
    chosen = [row for row in every if not patterns or fits(row[0], patterns)]
    rows: list[TableRow] = []
    left_out: list[str] = []
    for key, row, own in chosen:
        found = list(_rows(plan, table, key, row, own))
        rows += found
        if not found:
            left_out.append(key)
    if chosen and not rows:
        raise UserError(
            f"`--rows` must name rows that exist at scale {setting.scale}; "
            f"{', '.join(left_out)} do not"
        )
    if not table.twins:  # with few layers, a sweep has identical rows
        rows = first_of_each(rows, lambda row: identity(plan, row))
    return rows, left_out


def tables_with(setting: Setting, tables: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The tables that have rows matching the patterns; all tables if there are no patterns.

    Raises:
        UserError: a pattern matches no row of any table.
    """
    document = setting.document
    shown = {name: document.tables[name].cells or name for name in tables}
    names = {
        name: [row[0] for row in _described(setting, cells, document.tables[cells])]
        for name, cells in shown.items()
    }
    every = list(dict.fromkeys(name for rows in names.values() for name in rows))
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in every):
            raise UserError(f"`--rows` must be among {', '.join(every)}; {pattern} matches none")
    fitting = [table for table, rows in names.items() if any(fits(row, patterns) for row in rows)]
    return fitting if patterns else list(tables)


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name matches any of the patterns."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _described(
    setting: Setting, name: str, table: Table
) -> Iterator[tuple[str, Row, dict[str, Any]]]:
    """The rows in the file: one for each value of `rows` and each cell of the axes."""
    scope = setting.scope({}, f"{setting.document.path.name}, tables.{name}")
    for key, row in table.rows.items():
        if row.rows is None:
            yield key, row, {}
            continue
        for value in scope.value(row.rows):
            own = scope.with_values(row=value)
            yield own.text(key), row, {"row": value}
    systems = scope.value(table.system)
    axes = axes_of(setting, table)
    for system in systems if isinstance(systems, list) else [systems]:
        if axes and not setting.resolve(system).here:  # report once, not for each cell
            yield system, Row(table.label), {}
            continue
        for values in product(*axes.values()) if axes else ():
            cell = dict(zip(axes, values, strict=True))
            parts = "".join(f"+{axis}={value}" for axis, value in cell.items())
            yield system + parts, Row(table.label, published=table.published_row), cell


def _rows(
    plan: Plan, table: Table, key: str, row: Row, names: Mapping[str, Any]
) -> Iterator[TableRow]:
    """The row, once for each value of a multi-valued option that affects it.

    Its label says which value an option has, if another would make it a different row: other than
    the option's first, or several by default.
    """
    setting = plan.setting
    found: dict[str, TableRow] = {}
    for values in product(*setting.several.values()):
        chosen = {**setting.options, **dict(zip(setting.several, values, strict=True))}
        suffix, label = "", ""
        for option, value in chosen.items():
            described = setting.document.options[option]
            several = option in setting.several
            if not several and not described.labels:
                continue
            # several values, even if the user gave a single one
            usual = setting.of_scale(described.default) if several else ()

            def comes_to(value: Any, option: str = option) -> Any:
                made = _row(plan, table, key, row, names, f"+{option}={as_text(value)}")
                return made and identity(plan, made)

            differs = comes_to(value) != comes_to(described.choices[0])
            suffix += f"+{option}={as_text(value)}" * (differs and several)
            if differs or any(comes_to(other) != comes_to(value) for other in usual):
                label += described.labels.get(as_text(value), "")
        made = _row(plan, table, key, row, names, suffix)
        if made is not None:
            found.setdefault(suffix, replace(made, label=made.label + label))
    yield from found.values()


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
        own = resolved.scope.with_values(**local)
        directions = own.text(row.directions or table.directions)
        parts.append(Part(system, directions, row.path, row.translate, local))
    if scope is None:
        return None
    label = scope.text(row.label or key)
    published = scope.text(row.published) or label
    if template := setting.said("label"):
        label = scope.with_values(label=label).text(template)
    cell = {axis: names[axis] for axis in table.axes if axis in names}
    return TableRow(key + suffix, label, tuple(parts), published, cell)


def systems_of(plan: Plan) -> Iterator[str]:
    """The systems of all tables at this scale, with all seeds of each row."""
    for name, table in plan.setting.document.tables.items():
        if plan.setting.has(table.scales):
            for key, description, names in _described(plan.setting, name, table):
                for row in _rows(plan, table, key, description, names):
                    for seed in range(1, plan.seeds + 1):
                        yield from row.with_seed(seed, plan.seeds).systems


def identity(plan: Plan, row: TableRow) -> Any:
    """A key of a row's training runs and translations, independent of its names."""
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


def first_of_each(rows: Sequence[TableRow], identity: Callable[[TableRow], Any]) -> list[TableRow]:
    """The rows without later duplicates by `identity`."""
    kept: dict[Any, TableRow] = {}
    for row in rows:
        kept.setdefault(identity(row), row)
    return list(kept.values())
