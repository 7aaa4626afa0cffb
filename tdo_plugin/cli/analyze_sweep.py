"""`tdo analyze neurons sweep`: scores over a choice (figures 4 to 6, table 3)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.evaluation.scores import METRICS

if TYPE_CHECKING:
    from tdo_plugin.analysis.sweep_figures import Score
    from tdo_plugin.cli.analyze_output import Analysis, Numbers
    from tdo_plugin.evaluation.report.table import Table
    from tdo_plugin.evaluation.sweep import Point

HELP = "scores of systems over a number such as the threshold, or by variant"

DIGITS = 2  # as the paper's


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("scores", type=Path, nargs="+", metavar="SCORES", help="scores.json of `tdo score`")
    add(
        "--x",
        action="extend",
        nargs="+",
        required=True,
        metavar="SYSTEM=[LINE:]VALUE",
        help="where a system stands: a number makes a curve, a word bars; several systems at one "
        "value are seeds, and NAME stands for all that are called `NAME, seed N`",
    )
    add("--x-label", default="", metavar="TEXT", help="what the values are")
    add("--baseline", metavar="SYSTEM", help="show differences from this system")
    add("--metric", choices=tuple(METRICS), default="bleu", help="default: bleu")
    add("--per-direction", action="store_true", help="bars by direction, of numbers too")


def run(args: argparse.Namespace) -> Analysis:
    """Gather the scores."""
    from tdo_plugin.analysis.sweep_figures import draw_bars, draw_curves
    from tdo_plugin.cli.analyze_output import Analysis
    from tdo_plugin.evaluation.scores import merge, read_sheet
    from tdo_plugin.evaluation.sweep import MEAN, members, numeric, placed, points

    sheet = merge(read_sheet(path) for path in args.scores)
    systems = placed(args.x, sheet)
    baseline = members(args.baseline, sheet, "--baseline") if args.baseline else ()
    found = points(sheet, systems, args.metric, baseline)
    label = METRICS[args.metric].name
    against = ""
    if baseline:
        label, against = f"Δ {label}", f", against '{args.baseline}'"
    if numeric(systems) and not args.per_direction:
        name = "curve"
        lines: dict[str, dict[float, Score]] = {}
        for one in found:
            lines.setdefault(one.line, {})[float(one.value)] = _score(one, MEAN)
        title = f"mean over {len(sheet.directions)} directions{against}"
        draw = partial(draw_curves, lines, args.x_label, label, title)
    else:
        name = "bars"
        directions = (*sheet.directions, MEAN)
        bars = {one.name: {each: _score(one, each) for each in directions} for one in found}
        draw = partial(draw_bars, bars, args.x_label, label, f"by direction{against}")
    title = f"{label} by direction{against}"
    tables = [_table(found, title, args.x_label, bool(baseline))]
    return Analysis(tables, [], {"sweep": _numbers(found)}, {name: draw})


def _score(point: Point, direction: str) -> Score:
    from tdo_plugin.analysis.sweep_figures import Score

    return Score(point.mean(direction), *point.spread(direction))


def _table(points: Sequence[Point], title: str, over: str, signed: bool) -> Table:
    from tdo_plugin.cli.analyze_output import cell
    from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table, number
    from tdo_plugin.evaluation.sweep import MEAN

    seeds = any(len(one.scores[MEAN]) > 1 for one in points)

    def row(one: Point) -> Row:
        cells = [cell(one.mean(direction), DIGITS, signed) for direction in one.scores]
        ends = ABSENT
        if len(one.scores[MEAN]) > 1:
            ends = " to ".join(number(end, DIGITS, signed) for end in one.spread(MEAN))
        return Row((one.value,), (*cells, Cell(ends)) if seeds else tuple(cells))

    blocks = [
        Block(tuple(row(one) for one in points if one.line == line), line)
        for line in dict.fromkeys(one.line for one in points)
    ]
    names = [*points[0].scores, *(["seeds' means"] if seeds else [])]
    columns = tuple(Column("", name) for name in names)
    return Table("sweep", title, (over,), columns, tuple(blocks))


def _numbers(points: Sequence[Point]) -> Numbers:
    from tdo_plugin.cli.analyze_output import Numbers

    rows = [
        (one.line, one.value, direction, len(scores), one.mean(direction), *one.spread(direction))
        for one in points
        for direction, scores in one.scores.items()
    ]
    return Numbers(("line", "value", "direction", "systems", "mean", "least", "most"), rows)
