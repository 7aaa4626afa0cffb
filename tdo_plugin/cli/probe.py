"""`tdo probe`: train small classifiers (probes) on a frozen model's hidden states."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_compat.errors import tell
from tdo_plugin.cli.command import example
from tdo_plugin.cli.probe_checkpoints import MANY, checkpoints_of, named
from tdo_plugin.errors import UserError
from tdo_plugin.launch.handed_on_options import device_options, gpus_here
from tdo_plugin.launch.parser import seed

if TYPE_CHECKING:
    from tdo_plugin.analysis.probing.probing_results import CheckpointOutcome, TestTokens
    from tdo_plugin.analysis.probing.states import Batch, TokenStates
    from tdo_plugin.data.databin import DataFolder
    from tdo_plugin.evaluation.inspected_model import Cut, EvalModel

HELP = "train a small classifier on a frozen model's hidden states and report its accuracy"
POSITIONS = "predict token positions from source states, by layer, update and token class"
EXAMPLE = "tdo probe positions --path tdo=tdo.pt prefix=prefix.pt --data my-data --out my-probe"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the probes and their options."""
    probes = parser.add_subparsers(dest="probe", metavar="PROBE", required=True)
    positions = probes.add_parser("positions", help=POSITIONS, description=POSITIONS)
    positions.epilog = example(EXAMPLE)
    _positions(positions)


def _positions(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--path",
        action="extend",
        nargs="+",
        required=True,
        metavar=f"[NAME=]{MANY}",
        help="a model's checkpoints, for a curve over updates; a folder stands for all its epoch "
        "and update checkpoints; several models need names",
    )
    add("--data", type=Path, required=True, metavar="DATA", help="the models' data folder")
    add("--out", type=Path, metavar="DIR", help="folder for figures, their numbers and probe.json")
    add(
        "--directions",
        default="zero-shot",
        metavar="D",
        help="directions: zero-shot, supervised, all, or a list such as de-fr,fr-* (default "
        "zero-shot)",
    )
    add(
        "--halves",
        action="store_true",
        help="train on the first half of each test set and report on the second, for directions "
        "without validation sets",
    )
    add(
        "--layers",
        metavar="L,L",
        help="source layers, counted from 1, or all (default: the layer whose output the target "
        "reads)",
    )
    add("--against", metavar="NAME", help="model to compare accuracy with (default: the first)")
    size = parser.add_argument_group("sizes and seed")
    size.add_argument(
        "--sentences",
        type=int,
        default=6000,
        metavar="N",
        help="training sentences, split equally among directions (default 6000)",
    )
    size.add_argument(
        "--test-sentences",
        type=int,
        default=3000,
        metavar="N",
        help="test sentences, split equally among directions (default 3000)",
    )
    size.add_argument(
        "--longest",
        type=int,
        default=256,
        metavar="N",
        help="skip sources with more than N tokens (default 256)",
    )
    size.add_argument(
        "--probes",
        type=int,
        default=1,
        metavar="N",
        help="probes per layer, with different seeds, to average (default 1)",
    )
    size.add_argument(
        "--seed",
        type=seed,
        default=1,
        metavar="N",
        help="random seed for sentences and probes (default 1)",
    )
    add("--no-figures", action="store_true", help="numbers only, without matplotlib")
    device_options(parser, several=False)


def run(args: argparse.Namespace) -> int:
    """Probe every checkpoint, print the tables, and write files if `--out` is given."""
    from tdo_plugin.cli.probe_output import show, write
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.metrics.silence import quiet_libraries
    from tdo_plugin.runtime.lock import alone

    _check(args)
    models = checkpoints_of(named(args.path))
    against = args.against or next(iter(models))
    if against not in models:
        raise UserError(f"`--against` must be one of {', '.join(models)}; it is {against}")
    data = read_data_folder(args.data.resolve())
    directions = data.select(args.directions)
    if args.out is None:
        with quiet_libraries():
            outcomes, test = _probe(args, models, data, directions)
        show(outcomes, against, test)
        return 0
    out = args.out.resolve()
    if out == data.root or (out.exists() and not out.is_dir()):
        raise UserError(f"`--out` must be a folder other than DATA; it is {args.out}")
    with alone(out):
        with quiet_libraries():
            outcomes, test = _probe(args, models, data, directions)
        show(outcomes, against, test)
        for path in write(out, outcomes, against, test, args):
            print(path, flush=True)
    return 0


def _check(args: argparse.Namespace) -> None:
    from tdo_plugin.analysis.figure_files import check

    for option, least in (("sentences", 2), ("test_sentences", 1), ("longest", 1), ("probes", 1)):
        if getattr(args, option) < least:
            name = option.replace("_", "-")
            raise UserError(f"`--{name}` must be at least {least}; it is {getattr(args, option)}")
    if args.layers not in (None, "all"):
        numbers = args.layers.split(",")
        if not all(number.isdecimal() and int(number) for number in numbers):
            raise UserError(
                f"`--layers` must be all or layers from 1 such as 2,4; it is {args.layers}"
            )
    if args.out and not args.no_figures:
        check(args.out / "updates.png", "--out")


def _probe(
    args: argparse.Namespace,
    models: dict[str, list[tuple[int, Path]]],
    data: DataFolder,
    directions: tuple[str, ...],
) -> tuple[dict[str, list[CheckpointOutcome]], TestTokens]:
    import torch

    from tdo_plugin.analysis.probing.probing_results import (
        CheckpointOutcome,
        TestTokens,
        probe_layers,
    )
    from tdo_plugin.evaluation.inspected_model import EvalModel

    fit_cut, test_cut = _cuts(args, data, directions)
    device = torch.device("cuda:0" if gpus_here(args) else "cpu")
    seeds = range(args.seed, args.seed + args.probes)
    by_model: dict[str, list[CheckpointOutcome]] = {}
    tokens: TestTokens | None = None
    for name, checkpoints in models.items():
        for updates, path in checkpoints:
            model = EvalModel(path, data, device)
            default_layer = own_layer(model.spec.entry_layer, model.spec.source_layers)
            layers = wanted_layers(args.layers, default_layer, model.spec.source_layers, path)
            fit = _states(model, directions, fit_cut, args.sentences, args, layers)
            test = _states(model, directions, test_cut, args.test_sentences, args, layers)
            if tokens is None:
                tokens = TestTokens(fit, test, model.symbols, model.types, directions)
            elif not tokens.same_as(test):
                raise UserError(
                    "`--path` must name models with the same tokens for the sentences of --data; "
                    f"{path} has different tokens from the first"
                )
            del model
            tell(f"{name} after {updates} updates")
            outcomes = probe_layers(fit, test, seeds, lambda line: tell(f"  {line}"))
            layer = default_layer if default_layer in outcomes else layers[-1]
            by_model.setdefault(name, []).append(CheckpointOutcome(path, updates, layer, outcomes))
    assert tokens is not None
    return by_model, tokens


def own_layer(entry: int, layers: int) -> int:
    """The layer that represents a model: the layer after which the target enters.

    If the target enters before the first layer (one stage), it reads the source output of every
    layer but the last, so the second-to-last layer is chosen.
    """
    return entry or max(1, layers - 1)


def wanted_layers(text: str | None, default_layer: int, count: int, path: Path) -> tuple[int, ...]:
    """The layers that `--layers` selects in a model.

    Raises:
        UserError: the model has no such layer.
    """
    if text is None:
        return (default_layer,)
    chosen = (
        range(1, count + 1)
        if text == "all"
        else sorted({int(number) for number in text.split(",")})
    )
    if chosen[-1] > count:
        raise UserError(
            f"`--layers` must be at most {count}, the number of source layers of {path}; it has "
            f"{chosen[-1]}"
        )
    return tuple(chosen)


def _cuts(
    args: argparse.Namespace, data: DataFolder, directions: tuple[str, ...]
) -> tuple[Cut, Cut]:
    """The parts of the data for training probes and for reporting."""
    from tdo_plugin.evaluation.inspected_model import Cut, check_sets

    cuts = Cut("valid"), Cut("test")
    if args.halves:
        cuts = Cut("test", 0, 0.5), Cut("test", 0.5, 1)
    hint = " (make them with `tdo preprocess --join-valid N`, or use `--halves`)"
    for cut in cuts:
        check_sets(data, directions, cut, hint if cut.split == "valid" else "")
    return cuts


def _states(
    model: EvalModel,
    directions: tuple[str, ...],
    cut: Cut,
    sentences: int,
    args: argparse.Namespace,
    layers: Sequence[int],
) -> TokenStates:
    from tdo_plugin.analysis.probing.states import read_states
    from tdo_plugin.evaluation.inspected_model import Sampling

    # at least two lines, as the training of a probe holds one out
    share = max(2, sentences // len(directions))
    sampling = Sampling(share, args.longest, args.seed)
    batches: list[Batch] = []
    for number, direction in enumerate(directions):
        batches += [(number, *batch) for batch in model.batches(direction, cut, sampling)]
    lines = {int(line) for _, these, *_ in batches for line in these}
    if len(lines) < 2:
        raise UserError(
            f"`--data` must have two {cut.split} lines of at most {args.longest} tokens "
            f"(`--longest`) in this part of its sets; it has {len(lines)}"
        )
    return read_states(model.core, batches, layers, model.ignored)
