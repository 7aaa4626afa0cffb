"""Tables over axes: the input of `tdo report --cells`."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable
from dataclasses import asdict
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.report.cells import BestOf, Cells, ScoredCell
from tdo_plugin.experiments.document import Table
from tdo_plugin.experiments.systems import SEED, Setting

if TYPE_CHECKING:
    from tdo_plugin.experiments.plan import Plan
    from tdo_plugin.experiments.tables import PlannedTable

CELLS = "cells.json"


def axes_of(setting: Setting, table: Table) -> dict[str, tuple[str, ...]]:
    """A table's axes, with their values at this scale."""
    axes = setting.document.axes
    return {
        axis: tuple(name for name, part in axes[axis].items() if setting.has(part.scales))
        for axis in table.axes
    }


def check_cells(planned: PlannedTable) -> None:
    """Raise UserError if labels of cells are not unique, or seeds are both axis and option."""
    if not planned.table.axes:
        return
    where = f"{planned.plan.setting.document.path.name}: tables.{planned.name}"
    labels: dict[tuple[str, str], str] = {}
    for row in planned.rows:
        first = labels.setdefault((planned.block_of(row), row.label), row.name)
        if first != row.name:
            raise UserError(
                f"{where}.label must be unique for each cell; {first} and {row.name} share a label"
            )
    if SEED in planned.table.axes and planned.plan.seeds > 1:
        raise UserError(f"`--seeds` must be left out with {planned.name}, where seed is an axis")


def cells_text(planned: PlannedTable, block: str) -> str:
    """The JSON file that assigns axis values to the systems of a block's score sheet."""
    plan, table, scored = planned.plan, planned.table, planned.scored
    rows = [row for row in planned.rows if planned.block_of(row) == block]
    axes = {
        axis: tuple(value for value in values if any(row.values.get(axis) == value for row in rows))
        for axis, values in axes_of(plan.setting, scored.table).items()
    }
    scope = plan.setting.scope({}, f"tables.{planned.name}")
    beside = planned.published if planned is not scored else ""
    best = {
        axis: BestOf(
            beside,
            {
                value: scope.with_values(**{axis: value}).text(table.published_row)
                for value in axes[axis]
            }
            if beside
            else {},
        )
        for axis in table.best
    }
    systems: dict[Hashable, str] = {}
    cells = []
    for row in rows:
        first = systems.setdefault(scored.identity(row), row.label)
        log = plan.graph.log(plan.training(row.systems[0]))
        place = os.path.relpath(log, planned.folder_of(block))
        cells.append(ScoredCell(row.label, first, dict(row.values), row.published, place))
    content = Cells(
        title=scope.text(table.title),
        axes=axes,
        cells=tuple(cells),
        note=scope.text(table.note or scored.table.note),
        measure=scored.table.measure,
        groups=table.groups or scored.table.groups,
        mean_over=table.mean_over,
        best=best,
        published=planned.published if planned is scored else "",
        every=planned is scored or not table.best,
        seeds=plan.seeds > 1,
    )
    return json.dumps(asdict(content), ensure_ascii=False, indent=1)


def check_validated(plan: Plan, system: str) -> None:
    """Raise UserError if a training run does not translate its validation set."""
    flags = plan.system(system).config(plan.twins.described).flags
    if "--eval-translation" not in flags:
        raise UserError(
            "`measure` must be test for systems without --eval-translation; it is validation, and "
            f"{system} has none"
        )
    subset = flags.get("--eval-subset", ["valid"])[0]
    valid = flags.get("--valid-subset", ["valid"])[0]
    if subset not in valid.split(","):
        raise UserError(
            f"`--eval-subset` must be in --valid-subset ({valid}) if measure is validation; for "
            f"{system} it is {subset}"
        )
