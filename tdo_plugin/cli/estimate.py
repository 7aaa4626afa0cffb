"""`tdo estimate`: GPU hours of configs' trainings, by FLOPs and an assumed speed."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError
from tdo_plugin.launch.parser import RaisingParser

if TYPE_CHECKING:
    from tdo_plugin.launch.training_config import Config

HELP = "estimate the GPU hours of configs' trainings from their FLOPs"
EXAMPLE = "tdo estimate configs/ted19/tdo-prefix-instrucl.conf --tflops 125"

ROBT = "tdo_robt"
CRITERIONS = {
    "label_smoothed_cross_entropy_instrucl": "instrucl",
    "label_smoothed_cross_entropy_tlm": "reconstruction",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "configs",
        nargs="+",
        type=Path,
        metavar="CONFIG",
        help="files such as in configs/, or grids (.json), all of their trainings; one that is "
        "there twice is trained twice",
    )
    add(
        "--vocab-size",
        type=int,
        default=64000,
        metavar="V",
        help="entries of the dictionary (default 64000)",
    )
    add(
        "--num-languages",
        type=int,
        default=100,
        metavar="K",
        help="languages of --tdo-laln, --tdo-lalt and --tdo-target-attention (default 100)",
    )
    add(
        "--num-pairs",
        type=int,
        default=198,
        metavar="P",
        help="language pairs of --tdo-adapter-dim (default 198, of 99 languages with English)",
    )
    add("--source-length", type=int, default=30, metavar="S", help="with tag and end (default 30)")
    add("--target-length", type=int, default=30, metavar="T", help="with the end (default 30)")
    add(
        "--tflops",
        type=float,
        default=312.0,
        metavar="X",
        help="what a GPU could do at most, in TFLOP/s (default 312: an A100 in half precision)",
    )
    add(
        "--utilization",
        type=float,
        default=0.3,
        metavar="U",
        help="share of it that trainings reach; nothing here measures it (default 0.3)",
    )
    add(
        "--epoch-sentences",
        type=int,
        metavar="N",
        help="sentences of an epoch, as they are drawn, for configs that end with --max-epoch",
    )
    add(
        "--done",
        type=int,
        default=0,
        metavar="N",
        help="updates that are done already, as those before a fine-tuning (default 0)",
    )


@dataclass(frozen=True)
class Estimate:
    """One training: its config's name, parameters, updates, operations, and hours of one GPU.

    `upper_bound` is whether it does less than is counted.
    """

    name: str
    parameters: int
    updates: int
    flops: float
    hours: float
    upper_bound: bool = False


def run(args: argparse.Namespace) -> int:
    """Print a line for each config, their sum, and what was assumed."""
    _check(args)
    trainings = list(_trainings(args.configs))
    counts = Counter(path for path, _ in trainings)
    estimates = {path: _estimate(path, config, args) for path, config in dict(trainings).items()}
    width = max(len("config"), *(len(estimate.name) for estimate in estimates.values()))
    print(f"times  {'config':{width}}  parameters   updates  EFLOP each  GPU hours each")
    for path, estimate in estimates.items():
        print(
            f"{counts[path]:5}  {estimate.name:{width}}  {estimate.parameters / 1e6:9.1f}M"
            f"  {estimate.updates:8,}  {_short(estimate.flops / 1e18):>10}"
            f"  {_short(estimate.hours):>14}"
        )
    total = sum(counts[path] * estimate.hours for path, estimate in estimates.items())
    print(
        f"{len(trainings)} trainings, {_short(total)} GPU hours: an estimate, of sentences of "
        f"{args.source_length} and {args.target_length} tokens, batches without padding, and "
        f"{args.utilization:.0%} of {args.tflops:g} TFLOP/s, which is an assumption and was not "
        "measured"
    )
    if bounds := [estimate.name for estimate in estimates.values() if estimate.upper_bound]:
        print(
            f"an upper bound of {', '.join(bounds)}: which targets --robt-targets listed leaves "
            "out is not counted"
        )
    return 0


def _short(value: float) -> str:
    """A number with a place behind the point, or, of small ones, its first two digits."""
    return f"{value:,.1f}" if value >= 1 else f"{value:.2g}"


def _trainings(paths: Iterable[Path]) -> Iterator[tuple[Path, Config]]:
    """Each config with its place; a grid's have theirs in a folder that is called as the grid."""
    from tdo_plugin.grid.cells import cells_of, runs_of
    from tdo_plugin.grid.description import read_grid
    from tdo_plugin.launch.training_config import read_config

    for path in paths:
        if path.suffix == ".json":
            for run in runs_of(cells_of(read_grid(path))):
                yield path.with_suffix("") / run.name, run.config
        else:
            yield path, read_config(path)


def _check(args: argparse.Namespace) -> None:
    if not 0 < args.utilization <= 1:
        raise UserError(
            f"`--utilization` must be above 0 and at most 1; it is {args.utilization:g}"
        )
    if not 0 < args.tflops < math.inf:
        raise UserError(f"`--tflops` must be a number above 0; it is {args.tflops:g}")
    counts = ("epoch_sentences", "source_length", "target_length", "num_languages", "num_pairs")
    for name, least in {**dict.fromkeys(counts, 1), "done": 0}.items():
        value = getattr(args, name)
        if value is not None and value < least:
            option = name.replace("_", "-")
            raise UserError(f"`--{option}` must be at least {least}; it is {value}")


def _estimate(path: Path, config: Config, args: argparse.Namespace) -> Estimate:
    """The cost of a config.

    A batch holds as many sentences of the assumed lengths as `--max-tokens` lets in, by its longer
    side. ROBT trains on `--robt-share` of the sentences twice, and decodes them once, greedily, in
    between; that is an upper bound with `--robt-targets listed`.

    Raises:
        UserError: it names no architecture of this package, no number of updates, or no share.
    """
    from tdo_plugin.cli import describe

    tokens = config.gpus * config.integer("--max-tokens", 4000) * config.integer("--update-freq", 1)
    longest = max(args.source_length, args.target_length)
    updates = _updates(path, config, tokens / longest, args.epoch_sentences) - args.done
    if updates < 1:
        raise UserError(f"`--done` must be below the {args.done + updates} updates of {path}")
    parser = RaisingParser(add_help=False, allow_abbrev=False)
    describe.add_arguments(parser)
    share = _translated_back(config)
    lengths = ["--source-length", args.source_length, "--target-length", args.target_length]
    sizes = ["--vocab-size", args.vocab_size, "--num-languages", args.num_languages]
    sizes += ["--num-pairs", args.num_pairs]
    words = [*config.words(), *sizes, *lengths, "--beam", 1]
    options, _ = parser.parse_known_args(list(map(str, words)))
    model = describe.describe(options)
    flops = model["flops"]
    each = flops["training"]["total"]
    each += sum(flops[term]["total"] for term in _terms(config) if flops.get(term))
    each += share * (each + flops["generation"]["total"])
    total = float(updates * tokens / longest * each)
    return Estimate(
        name=f"{path.resolve().parent.name}/{path.name.removesuffix('.conf')}",
        parameters=model["total_parameters"],
        updates=updates,
        flops=total,
        hours=total / (args.tflops * 1e12 * args.utilization) / 3600,
        upper_bound=share > 0 and config.flags.get("--robt-targets") == ["listed"],
    )


def _translated_back(config: Config) -> float:
    """The share of the sentences that ROBT translates back, if it is trained with."""
    if config.flags.get("--task") != [ROBT]:
        return 0.0
    text = " ".join(config.flags.get("--robt-share", ["1"]))
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise UserError(f"`--robt-share` must be above 0 and at most 1; it is {text}")
    return share


def _updates(path: Path, config: Config, sentences: float, epoch: int | None) -> int:
    """All updates of so many sentences each.

    Raises:
        UserError: the config names no end, or one in epochs whose size is not known.
    """
    if "--max-update" in config.flags:
        return config.integer("--max-update", 1)
    if "--max-epoch" not in config.flags:
        raise UserError(f"`--max-update` must stand in {path}, or there is no end to it")
    if epoch is None:
        raise UserError(f"`--epoch-sentences` must be given: {path} ends by epochs; it is not")
    return math.ceil(config.integer("--max-epoch", 1) * epoch / sentences)


def _terms(config: Config) -> list[str]:
    """The loss terms that are trained on."""
    flags = config.flags
    (criterion,) = flags.get("--criterion", [""])
    named = ",".join(flags.get("--loss-terms", [])).split(",")
    terms = [term for term in (*named, CRITERIONS.get(criterion, "")) if term]
    return [term for term in terms if flags.get(f"--{term}-weight") not in (["0"], ["0.0"])]
