"""The tables of a score sheet: means, differences, hypothesis languages, all directions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from statistics import fmean

from tdo_plugin.evaluation import published
from tdo_plugin.evaluation.groups import SUPERVISED
from tdo_plugin.evaluation.protocols import DEFAULT, PROTOCOLS
from tdo_plugin.evaluation.report.quantities import (
    BY_SIDE,
    Quantity,
    arrow,
    comparison_of,
    group_label,
)
from tdo_plugin.evaluation.report.table import (
    Block,
    Cell,
    Column,
    Row,
    Table,
    heading,
    number,
    p_value,
    score_cells,
    significance,
    with_spread,
)
from tdo_plugin.evaluation.score_sheet import METRICS, Comparison, Difference, Metric, ScoreSheet
from tdo_plugin.evaluation.seeds import by_seed, has_seeds, over_seeds

SHARES = ("target", "english", "source", "other", "undetectable")


def measured_metrics(sheet: ScoreSheet) -> list[str]:
    """The metrics with at least one score, in order."""
    measured = {key for system in sheet.systems for row in system.directions for key in row.scores}
    return [key for key in sheet.metrics if key in measured]


def shows_pooled(sheet: ScoreSheet) -> bool:
    """Whether the paper whose protocol was used scores test sets as one."""
    return PROTOCOLS.get(sheet.protocol or "", DEFAULT).pooled


def summary_groups(sheet: ScoreSheet) -> list[str]:
    """All groups, without `supervised` if columns for its parts make it redundant.

    `supervised` is kept if the paper whose protocol was used reports it.
    """
    members = set(sheet.groups.get(SUPERVISED, ()))
    sides = [set(rows) for name, rows in sheet.groups.items() if BY_SIDE.fullmatch(name)]
    parts: set[str] = set().union(*(rows for rows in sides if rows < members))
    redundant = parts == members and not _reports(sheet.protocol, SUPERVISED)
    return [name for name in sheet.groups if name != SUPERVISED or not redundant]


def _reports(paper: str | None, group: str) -> bool:
    tables = published.published(paper).tables if paper in PROTOCOLS else ()
    return any(column.group == group for table in tables for column in table.columns)


def summary(sheet: ScoreSheet) -> Table:
    """A row for each system, and for each metric a column for each group, as in papers.

    A mean that lacks directions of another system is never marked as best. A metric without any
    score has one empty column.
    """
    pooled = (False, True) if shows_pooled(sheet) else (False,)
    groups = summary_groups(sheet)
    columns = []
    cells = []
    for metric in sheet.metrics:
        quantities = [Quantity(metric, group, whole) for whole in pooled for group in groups]
        shown = [quantity for quantity in quantities if quantity.measured(sheet)]
        columns += [_column(sheet, quantity) for quantity in shown]
        cells += [_summary_cells(sheet, quantity) for quantity in shown]
        if not shown:
            columns.append(Column(heading(METRICS[metric]), "missing"))
            cells.append(score_cells([None] * len(sheet.systems), METRICS[metric]))
    rows = [
        Row((system.name,), tuple(column[index] for column in cells))
        for index, system in enumerate(sheet.systems)
    ]
    return Table("scores", "Scores", ("system",), tuple(columns), (Block(tuple(rows)),))


def _column(sheet: ScoreSheet, quantity: Quantity) -> Column:
    return replace(quantity.column(sheet), name=group_label(sheet, quantity.group))


def _summary_cells(sheet: ScoreSheet, quantity: Quantity) -> list[Cell]:
    marks = [
        ""
        if quantity.pooled
        or not (comparison := comparison_of(sheet, system.name, quantity.metric))
        or quantity.group not in comparison.groups
        else significance(comparison.groups[quantity.group], METRICS[quantity.metric])
        for system in sheet.systems
    ]
    values, competing = quantity.values(sheet), quantity.complete(sheet)
    return score_cells(values, METRICS[quantity.metric], marks, competing=competing)


def seeds(sheet: ScoreSheet) -> Table | None:
    """Means and spreads over the training runs of each system; None if each was trained once."""
    if not has_seeds(sheet):
        return None
    trainings, whole = by_seed(sheet), over_seeds(sheet)
    quantities = [
        Quantity(metric, group)
        for metric in measured_metrics(whole)
        for group in summary_groups(whole)
    ]
    cells = [_seed_cells(sheet, whole, quantity, trainings) for quantity in quantities]
    rows = tuple(
        Row((name, str(len(trainings[name]))), tuple(column[index] for column in cells))
        for index, name in enumerate(trainings)
    )
    columns = tuple(_column(whole, quantity) for quantity in quantities)
    caption = "Means over training runs with different seeds, ± the standard deviation (n − 1)."  # noqa: RUF001
    return Table("seeds", "Over seeds", ("system", "seeds"), columns, (Block(rows),), caption)


def _seed_cells(
    sheet: ScoreSheet, whole: ScoreSheet, quantity: Quantity, trainings: dict[str, tuple[str, ...]]
) -> list[Cell]:
    metric = METRICS[quantity.metric]
    cells = score_cells(quantity.values(whole), metric, competing=quantity.complete(whole))
    for index, members in enumerate(trainings.values()):
        values = [quantity.of(sheet, member) for member in members]
        scores = [value for value in values if value is not None]
        if len(scores) == len(members):
            cells[index] = with_spread(cells[index], scores, metric)
    return cells


def differences(sheet: ScoreSheet) -> Table | None:
    """Every system against its baseline; None if nothing was compared."""
    blocks = []
    for (system, baseline), comparisons in groupby(
        sheet.comparisons, lambda c: (c.system, c.baseline)
    ):
        rows = [
            _difference_row(sheet, comparison, group)
            for comparison in comparisons
            for group in comparison.win_ratio
        ]
        blocks.append(Block(tuple(rows), f"{system} against {baseline}"))
    if not blocks:
        return None
    names = ("difference", "95 % interval", "p", "better on %")
    columns = tuple(Column("", name) for name in names)
    caption = (
        "Differences of the means, with paired-bootstrap intervals; “better on” is the percentage "
        "of directions on which the system is better."
    )
    heads = ("metric", "group")
    return Table("differences", "Differences", heads, columns, tuple(blocks), caption)


def _difference_row(sheet: ScoreSheet, comparison: Comparison, group: str) -> Row:
    metric = METRICS[comparison.metric]
    wins, tested = comparison.win_ratio[group], comparison.groups.get(group)
    cells = _tested_cells(tested, metric) if tested else [Cell("")] * 3
    labels = metric.name, group_label(sheet, group)
    return Row(labels, (*cells, Cell(number(wins, 0), wins)))


def _tested_cells(difference: Difference, metric: Metric) -> list[Cell]:
    low, high = (number(end, metric.digits, True) for end in (difference.low, difference.high))
    return [
        Cell(
            number(difference.difference, metric.digits, True),
            difference.difference,
            mark=significance(difference, metric),
        ),
        Cell(f"[{low}, {high}]", difference.low),
        Cell(p_value(difference.p), difference.p),
    ]


def languages(sheet: ScoreSheet) -> Table | None:
    """The languages of the hypotheses, by group; None if languages were not identified."""
    rows = [
        Row((group_label(sheet, group), system.name), tuple(Cell(number(v, 1), v) for v in shares))
        for group in sheet.groups
        for system in sheet.systems
        if (shares := _mean_shares(sheet, system.name, group))
    ]
    if not rows:
        return None
    columns = tuple(Column("", name) for name in (*_share_names(), "of other: neighbour"))
    caption = (
        "Percentage of hypotheses in each language, means over the directions with a target that "
        "the detector supports; “neighbour” is a language that it confuses with the target."
    )
    heads = ("group", "system")
    title = "Languages of the hypotheses"
    return Table("languages", title, heads, columns, (Block(tuple(rows)),), caption)


def _share_names() -> list[str]:
    return ["English" if name == "english" else name for name in SHARES]


def _mean_shares(sheet: ScoreSheet, system: str, group: str) -> list[float]:
    rows = [sheet.system(system).of(direction) for direction in sheet.groups[group]]
    identified = [row for row in rows if row and row.shares]
    if not identified:
        return []
    means = [fmean(row.shares.get(name, 0.0) for row in identified) for name in SHARES]
    return [*means, fmean(row.confused for row in identified)]


def by_direction(sheet: ScoreSheet) -> Table:
    """A row for each direction, and for each metric a column for each system; best marked."""
    metrics = measured_metrics(sheet)
    columns = tuple(
        Column(heading(METRICS[metric]), system.name)
        for metric in metrics
        for system in sheet.systems
    )
    rows = [
        Row((arrow(direction),), tuple(_direction_cells(sheet, direction, metrics)))
        for direction in sheet.directions
    ]
    blocks = (Block(tuple(rows)),)
    return Table("directions", "Every direction", ("direction",), columns, blocks)


def _direction_cells(sheet: ScoreSheet, direction: str, metrics: list[str]) -> Iterator[Cell]:
    for metric in metrics:
        marks = [
            significance(comparison.directions[direction], METRICS[metric])
            if (comparison := comparison_of(sheet, system.name, metric))
            and direction in comparison.directions
            else ""
            for system in sheet.systems
        ]
        values = Quantity(metric, direction).values(sheet)
        yield from score_cells(values, METRICS[metric], marks)
