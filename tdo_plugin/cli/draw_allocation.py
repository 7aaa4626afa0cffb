"""`tdo neurons draw allocation`: figure 3, and the similarity of pairs by shared neurons."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.analysis_command import analysis_options, show_analysis
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from tdo_plugin.analysis.neurons.pair_similarity import Tree
    from tdo_plugin.analysis.neurons.specific import Specific
    from tdo_plugin.cli.analysis_output import Analysis, Numbers
    from tdo_plugin.evaluation.report.table import Table
    from tdo_plugin.neuron_files import Place

HELP = "draw where language pairs have specific neurons, and how many each two pairs share"
EXAMPLE = "tdo neurons draw allocation masks --out my-figures"

Layers = Mapping[tuple[str, int], "Specific"]
Modules = Mapping["Place", "Specific"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", type=Path, metavar="MASKS", help="output of `tdo neurons allocate`")
    analysis_options(parser)


def run(args: argparse.Namespace) -> int:
    """Read the masks, count specific neurons, and compare the pairs."""
    return show_analysis(args, _analyze)


def _analyze(args: argparse.Namespace) -> Analysis:
    from tdo_plugin.analysis.neurons import neuron_figures
    from tdo_plugin.analysis.neurons import pair_similarity as similarity
    from tdo_plugin.analysis.neurons.specific import by_layer, by_module
    from tdo_plugin.cli.analysis_output import Analysis, Numbers, matrix
    from tdo_plugin.neuron_files import Masks, place_of

    if not args.no_figures:
        similarity.check_scipy("--out")
    masks = Masks.read(args.file, "MASKS")
    pairs = masks.pairs
    layers = by_layer(masks)
    modules = {place_of(name): module for name, module in by_module(masks).items()}
    if not any(layer.neurons for layer in layers.values()):
        raise UserError(f"`MASKS` must have specific neurons; all of {args.file} are general")
    tables = [_layers_table(layers, pairs), _modules_table(modules)]
    numbers = {"layers": _layers_numbers(layers, pairs), "modules": _modules_numbers(modules)}
    pictures = {
        "layers": partial(
            neuron_figures.draw_layers,
            {key: layer.scores for key, layer in layers.items()},
            pairs,
            "each pair's share of a layer's specific neurons",
        ),
        "modules": partial(
            neuron_figures.draw_modules,
            {key: module.mean for key, module in modules.items()},
            "pairs' mean share of a module's specific neurons",
        ),
    }
    if len(pairs) == 1:
        return Analysis(tables, ["A single pair has no similarity."], numbers, pictures)
    alike = similarity.jaccard(masks)
    title = "shared specific neurons of two pairs (Jaccard index)"
    tables.append(matrix(title.capitalize(), alike, pairs))
    rows = [(pair, *values) for pair, values in zip(pairs, alike.tolist(), strict=True)]
    numbers["alike"] = Numbers(("pair", *pairs), rows)
    if not args.no_figures:
        tree = similarity.tree(alike)
        numbers["tree"] = _tree_numbers(tree, pairs)
        pictures["alike"] = partial(neuron_figures.draw_similarity, alike, tree, pairs, title)
    return Analysis(tables, [], numbers, pictures)


def _layers_table(layers: Layers, pairs: Sequence[str]) -> Table:
    from tdo_plugin.cli.analysis_output import cell
    from tdo_plugin.evaluation.report.table import Block, Column, Row, Table

    blocks = [
        Block(
            tuple(
                Row((str(layer),), tuple(cell(score, 3) for score in layers[stack, layer].scores))
                for _, layer in members
            ),
            stack,
        )
        for stack, members in groupby(layers, key=lambda key: key[0])
    ]
    columns = tuple(Column("", pair) for pair in pairs)
    return Table("layers", "LScore, by layer and pair", ("layer",), columns, tuple(blocks))


def _modules_table(modules: Modules) -> Table:
    from tdo_plugin.cli.analysis_output import cell
    from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table

    kinds = sorted(dict.fromkeys(place[2:] for place in modules), key=lambda kind: kind[0])
    blocks = []
    for stack, members in groupby(
        dict.fromkeys(place[:2] for place in modules), lambda key: key[0]
    ):
        rows = []
        for _, layer in members:
            by_kind = {
                place[2:]: module
                for place, module in modules.items()
                if place[:2] == (stack, layer)
            }
            cells = [
                cell(by_kind[kind].mean, 3) if kind in by_kind else Cell(ABSENT) for kind in kinds
            ]
            rows.append(Row((str(layer),), tuple(cells)))
        blocks.append(Block(tuple(rows), stack))
    columns = tuple(Column(part.replace("_", " "), neurons) for part, neurons in kinds)
    return Table("modules", "MScore, by layer and module", ("layer",), columns, tuple(blocks))


def _layers_numbers(layers: Layers, pairs: Sequence[str]) -> Numbers:
    from tdo_plugin.cli.analysis_output import Numbers

    rows = [
        (*key, pair, count, layer.neurons, score)
        for key, layer in layers.items()
        for pair, count, score in zip(pairs, layer.of_pairs, layer.scores, strict=True)
    ]
    return Numbers(("stack", "layer", "pair", "neurons", "of", "lscore"), rows)


def _modules_numbers(modules: Modules) -> Numbers:
    from tdo_plugin.cli.analysis_output import Numbers

    rows = [(*place, module.neurons, module.mean) for place, module in modules.items()]
    return Numbers(("stack", "layer", "part", "neurons", "of", "mscore"), rows)


def _tree_numbers(tree: Tree, pairs: Sequence[str]) -> Numbers:
    """One row per merge step; a group from an earlier step is named by that step's number."""
    from tdo_plugin.cli.analysis_output import Numbers

    names = [*pairs, *(f"step {number}" for number in range(1, len(tree.steps) + 1))]
    rows = [
        (number, names[first], names[second], distance, count)
        for number, (first, second, distance, count) in enumerate(tree.steps, start=1)
    ]
    return Numbers(("step", "one", "other", "distance", "pairs"), rows)
