"""`tdo curve sweep`: scores over a hyperparameter, or by variant."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.analysis_command import analysis_options, show_analysis
from tdo_plugin.evaluation.score_sheet import METRICS

if TYPE_CHECKING:
    from tdo_plugin.analysis.figure_files import Score
    from tdo_plugin.cli.analysis_output import Analysis, Numbers
    from tdo_plugin.evaluation.report.table import Table
    from tdo_plugin.evaluation.sweep import Point

    Draw = Callable[[Sequence[Path]], None]

HELP = "show scores over a hyperparameter such as a threshold, or by variant"
EXAMPLE = (
    'tdo curve sweep my-report/scores.json --x "TDO, M = 1=1" "TDO, M = 2=2" --x-label M '
    "--out my-curve"
)

DIGITS = 2  # as in the paper


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("scores", type=Path, nargs="+", metavar="SCORES", help="scores.json files of `tdo score`")
    add(
        "--x",
        action="extend",
        nargs="+",
        required=True,
        metavar="SYSTEM=[LINE:]VALUE",
        help="x value of a system: numbers make a curve, words bars; several systems with the same "
        "value are seeds, and NAME stands for all systems called `NAME, seed N`",
    )
    add("--x-label", default="", metavar="TEXT", help="label of the x axis")
    add("--baseline", metavar="SYSTEM", help="show differences from this system")
    add("--ratio", action="store_true", help="show differences as a percentage of --baseline")
    add("--metric", choices=tuple(METRICS), default="bleu", help="metric to show (default: bleu)")
    add(
        "--group",
        action="extend",
        nargs="+",
        default=[],
        metavar="GROUP",
        help="one line per group of directions, named as in `tdo score`, such as supervised or "
        "zero-shot (default: the mean over all directions)",
    )
    add("--per-direction", action="store_true", help="bars per direction, also for numeric values")
    analysis_options(parser)


def run(args: argparse.Namespace) -> int:
    """Collect the scores and show them."""
    return show_analysis(args, _analyze)


def _analyze(args: argparse.Namespace) -> Analysis:
    from tdo_plugin.analysis.sweep_figures import draw_bars, draw_curves
    from tdo_plugin.cli.analysis_output import Analysis
    from tdo_plugin.errors import UserError
    from tdo_plugin.evaluation.report.report_files import slugs
    from tdo_plugin.evaluation.score_sheet import merge
    from tdo_plugin.evaluation.sheet_reading import read_sheet
    from tdo_plugin.evaluation.sweep import groups_of, members, numeric, placed, points

    if args.ratio and not args.baseline:
        raise UserError("`--ratio` must come with `--baseline`; it does not")
    sheet = merge(read_sheet(path) for path in args.scores)
    systems = placed(args.x, sheet)
    baseline = members(args.baseline, sheet, "--baseline") if args.baseline else ()
    measure = "ratio" if args.ratio else "difference" if baseline else "score"
    scored_points = points(sheet, systems, args.metric, baseline, measure, args.group)
    groups = list(groups_of(sheet, args.group))
    label = METRICS[args.metric].name
    against = ""
    if baseline:
        label = f"Δ {label}{', %' if args.ratio else ''}"
        against = f", against '{args.baseline}'"
    over = ", ".join(args.group) or f"{len(sheet.directions)} directions"
    pictures: dict[str, Draw]
    if numeric(systems) and not args.per_direction:
        lines: dict[tuple[str, str], dict[float, Score]] = {}
        for point in scored_points:
            for group in groups:
                style = group if args.group else ""
                lines.setdefault((point.line, style), {})[float(point.value)] = _score(point, group)
        title = f"mean over {over}{against}"
        pictures = {"curve": partial(draw_curves, lines, args.x_label, label, title)}
    elif args.group:
        # separate figures, as supervised and zero-shot scores may be 90 and 0.2
        pictures = {
            f"bars-{slug}": partial(
                draw_bars,
                _side_by_side(scored_points, group),
                "",
                label,
                f"mean over {group}{against}",
                below=args.x_label,
            )
            for group, slug in slugs(groups).items()
        }
    else:
        shown = [*sheet.directions, *groups]
        bars = {
            point.name: {each: _score(point, each) for each in shown} for point in scored_points
        }
        pictures = {"bars": partial(draw_bars, bars, args.x_label, label, f"by direction{against}")}
    tables = [
        _table(
            scored_points, f"{label} by direction{against}", args.x_label, bool(baseline), groups
        )
    ]
    return Analysis(tables, [], {"sweep": _numbers(scored_points)}, pictures)


def _side_by_side(points: Sequence[Point], group: str) -> dict[str, dict[str, Score]]:
    """Scores by line and value; NaN where a line has no score, which leaves a gap."""
    from tdo_plugin.analysis.figure_files import Score

    values = dict.fromkeys(point.value for point in points)
    nothing = dict.fromkeys(values, Score(math.nan, math.nan, math.nan))
    by_line: dict[str, dict[str, Score]] = {}
    for point in points:
        by_line.setdefault(point.line, dict(nothing))[point.value] = _score(point, group)
    return by_line


def _score(point: Point, direction: str) -> Score:
    from tdo_plugin.analysis.figure_files import Score

    return Score(point.mean(direction), *point.spread(direction))


def _table(
    points: Sequence[Point], title: str, over: str, signed: bool, groups: Sequence[str]
) -> Table:
    from tdo_plugin.cli.analysis_output import cell
    from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table, number

    last = groups[-1]
    seeds = any(len(point.scores[last]) > 1 for point in points)

    def row(point: Point) -> Row:
        cells = [cell(point.mean(direction), DIGITS, signed) for direction in point.scores]
        ends = ABSENT
        if len(point.scores[last]) > 1:
            ends = " to ".join(number(end, DIGITS, signed) for end in point.spread(last))
        return Row((point.value,), (*cells, Cell(ends)) if seeds else tuple(cells))

    blocks = [
        Block(tuple(row(point) for point in points if point.line == line), line)
        for line in dict.fromkeys(point.line for point in points)
    ]
    names = [*points[0].scores, *(["seeds' means"] if seeds else [])]
    columns = tuple(Column("", name) for name in names)
    return Table("sweep", title, (over,), columns, tuple(blocks))


def _numbers(points: Sequence[Point]) -> Numbers:
    from tdo_plugin.cli.analysis_output import Numbers

    rows = [
        (
            point.line,
            point.value,
            direction,
            len(scores),
            point.mean(direction),
            *point.spread(direction),
        )
        for point in points
        for direction, scores in point.scores.items()
    ]
    return Numbers(("line", "value", "direction", "systems", "mean", "least", "most"), rows)
