"""`tdo neurons draw importance`: the curves of figure 2, and the similarity of pairs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.analysis_command import analysis_options, show_analysis
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from tdo_plugin.analysis.neurons.pair_similarity import Kind
    from tdo_plugin.cli.analysis_output import Analysis, Numbers
    from tdo_plugin.evaluation.report.table import Table
    from tdo_plugin.neuron_files import Importance

HELP = "draw each neuron's importance to each language pair, and the similarity of pairs"
EXAMPLE = "tdo neurons draw importance importance --out my-figures"

MOST = 8  # pairs in a figure, unless `--pairs` names them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="output of `tdo neurons importance`")
    add(
        "--pairs",
        metavar="P,P",
        help=f"only these language pairs (default: all; figures show the first {MOST})",
    )
    add(
        "--modules",
        metavar="PATTERN",
        help="draw matching modules, such as decoder_layers.5.feed_forward.* (default: the inner "
        "feed-forward neurons of the last source layer and the last target layer)",
    )
    analysis_options(parser)


def run(args: argparse.Namespace) -> int:
    """Read the importance, and compare the pairs."""
    return show_analysis(args, _analyze)


def _analyze(args: argparse.Namespace) -> Analysis:
    from tdo_plugin.analysis.neurons.allocation import chosen
    from tdo_plugin.analysis.neurons.neuron_figures import draw_importance
    from tdo_plugin.analysis.neurons.pair_similarity import spearman_by_kind
    from tdo_plugin.cli.allocate import wanted_pairs
    from tdo_plugin.cli.analysis_output import Analysis, Numbers
    from tdo_plugin.neuron_files import Importance

    importance = Importance.read(args.file)
    if args.pairs:
        importance = chosen(importance, wanted_pairs(args.pairs, importance))
    modules = wanted_modules(importance, args.modules)
    pairs = importance.pairs if args.pairs else importance.pairs[:MOST]
    remarks = []
    if len(pairs) < len(importance.pairs):
        remarks.append(
            f"Figures show the first {len(pairs)} of {len(importance.pairs)} pairs; "
            "choose others with --pairs."
        )
    numbers, pictures = {}, {}
    for name in modules:
        theta = importance.modules[name]
        numbers[name] = Numbers(
            ("neuron", *importance.pairs),
            [(neuron, *values) for neuron, values in enumerate(theta.T.tolist())],
        )
        label = f"importance ({importance.method})"
        pictures[name] = partial(draw_importance, theta[: len(pairs)], pairs, name, label)
    if len(importance.pairs) == 1:
        return Analysis((), [*remarks, "A single pair has no similarity."], numbers, pictures)
    alike = spearman_by_kind(importance)
    numbers["alike"] = _numbers(alike, importance)
    return Analysis(_tables(alike, importance), remarks, numbers, pictures)


def wanted_modules(importance: Importance, pattern: str | None) -> list[str]:
    """The modules to draw.

    Raises:
        UserError: no module matches the pattern.
    """
    if pattern is not None:
        names = [name for name in importance.modules if fnmatchcase(name, pattern)]
        if not names:
            raise UserError(
                f"`--modules` must match modules such as {next(iter(importance.modules))}; "
                f"{pattern} matches none"
            )
        return names
    last = {
        importance.sides[name]: name
        for name in importance.modules
        if name.endswith("feed_forward.inner")
    }
    return list(last.values())


def _numbers(alike: Mapping[Kind, Tensor], importance: Importance) -> Numbers:
    from tdo_plugin.cli.analysis_output import Numbers

    rows = [
        (
            *kind,
            importance.pairs[first],
            importance.pairs[second],
            float(correlations[first, second]),
        )
        for kind, correlations in alike.items()
        for first, second in combinations(range(len(importance.pairs)), 2)
    ]
    return Numbers(("stack", "part", "neurons", "pair", "other", "spearman"), rows)


def _tables(alike: Mapping[Kind, Tensor], importance: Importance) -> list[Table]:
    import torch

    from tdo_plugin.cli.analysis_output import cell, matrix
    from tdo_plugin.evaluation.report.table import Block, Cell, Column, Row, Table

    mean = torch.stack(list(alike.values())).nanmean(0)
    rows = []
    for kind, correlations in alike.items():
        values = {
            f"{importance.pairs[first]} {importance.pairs[second]}": float(
                correlations[first, second]
            )
            for first, second in combinations(range(len(importance.pairs)), 2)
            if not correlations[first, second].isnan()
        }
        least, most = (take(values, key=values.__getitem__, default="") for take in (min, max))
        average = sum(values.values()) / len(values) if values else float("nan")
        cells = [cell(average, 2)]
        for name in (least, most):
            cells += [cell(values.get(name, float("nan")), 2), Cell(name)]
        rows.append(Row(kind, tuple(cells)))
    columns = [Column("", "mean")]
    for name in ("least alike", "most alike"):
        columns += [Column(name, ""), Column(name, "pairs")]
    title = "Rank correlation of importance between two pairs, mean over layers"
    kinds = Table(
        "kinds",
        title,
        ("stack", "part", "neurons"),
        tuple(columns),
        (Block(tuple(rows)),),
    )
    title = "Rank correlation of importance, mean over the modules above"
    return [kinds, matrix(title, mean, importance.pairs)]
