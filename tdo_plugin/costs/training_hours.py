"""GPU hours of a training run, from FLOPs and an assumed speed."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tdo_plugin.costs.model_description import (
    SPECIAL_SYMBOLS,
    describe,
    description_options,
)
from tdo_plugin.errors import UserError
from tdo_plugin.launch.parser import RaisingParser, at_least
from tdo_plugin.launch.training_config import Config

ROBT = "tdo_robt"
CRITERIONS = {
    "label_smoothed_cross_entropy_instrucl": "instrucl",
    "label_smoothed_cross_entropy_tlm": "reconstruction",
}
IN_TRAINING = "tpdm"  # the term that is part of the training's cost, as it is of the model
ASSUMED = {
    **{"vocab_size": 64000, "num_languages": 100, "num_pairs": 198},
    **{"source_length": 30, "target_length": 30, "tflops": 312.0, "utilization": 0.3},
    **{"epoch_sentences": None, "done": 0},
}


def assumption_options(parser: argparse.ArgumentParser) -> None:
    """Declare assumptions about data and machine; `assumptions` fills in defaults."""
    group = parser.add_argument_group("assumptions", argument_default=argparse.SUPPRESS)
    add = group.add_argument
    add(
        "--vocab-size",
        type=at_least(SPECIAL_SYMBOLS),
        metavar="V",
        help="entries of the dictionary (default 64000)",
    )
    add(
        "--num-languages",
        type=at_least(1),
        metavar="K",
        help="number of languages, for --tdo-laln, --tdo-lalt and --tdo-target-attention (default "
        "100)",
    )
    add(
        "--num-pairs",
        type=at_least(1),
        metavar="P",
        help="number of language pairs, for --tdo-adapter-dim (default 198: 99 languages from and "
        "into English)",
    )
    add(
        "--source-length",
        type=at_least(1),
        metavar="S",
        help="mean source tokens including tag and end symbol (default 30)",
    )
    add(
        "--target-length",
        type=at_least(1),
        metavar="T",
        help="mean target tokens including the end symbol (default 30)",
    )
    add(
        "--tflops",
        type=float,
        metavar="X",
        help="peak speed of a GPU in TFLOP/s (default 312: an A100 in half precision)",
    )
    add(
        "--utilization",
        type=float,
        metavar="U",
        help="share of the peak speed that training reaches, an assumption (default 0.3)",
    )
    add(
        "--epoch-sentences",
        type=at_least(1),
        metavar="N",
        help="sampled sentences per epoch, for configs that end with --max-epoch",
    )
    add(
        "--done",
        type=at_least(0),
        metavar="N",
        help="updates that are already done, such as those before fine-tuning (default 0)",
    )


@dataclass(frozen=True)
class Estimate:
    """Cost of one training.

    Attributes:
        name: the config's name.
        parameters: number of parameters.
        updates: number of updates.
        flops: total floating-point operations.
        hours: hours on one GPU.
        upper_bound: whether the true cost may be lower.
    """

    name: str
    parameters: int
    updates: int
    flops: float
    hours: float
    upper_bound: bool = False


def assumptions(given: argparse.Namespace, usual: Sequence[str] = ()) -> argparse.Namespace:
    """The assumptions: given values, else the usual values of a training run, else defaults.

    Args:
        given: values of `assumption_options`, among others.
        usual: words of these options that are usual for the training.

    Raises:
        UserError: an invalid value.
    """
    parser = RaisingParser(prog="estimate", add_help=False, allow_abbrev=False)
    assumption_options(parser)
    said = {name: value for name, value in vars(given).items() if name in ASSUMED}
    args = argparse.Namespace(**{**ASSUMED, **vars(parser.parse_args(list(usual))), **said})
    _check(args)
    return args


def _check(args: argparse.Namespace) -> None:
    if not 0 < args.utilization <= 1:
        raise UserError(
            f"`--utilization` must be above 0 and at most 1; it is {args.utilization:g}"
        )
    if not 0 < args.tflops < math.inf:
        raise UserError(f"`--tflops` must be a number above 0; it is {args.tflops:g}")


def estimate(name: str, config: Config, args: argparse.Namespace) -> Estimate:
    """The cost of a training run.

    A batch holds as many sentences of the assumed lengths as `--max-tokens` allows for the longer
    side. ROBT trains twice on `--robt-share` of the sentences, and decodes them once in between by
    greedy search; with `--robt-targets listed` this is an upper bound.

    Args:
        name: the training's name.
        config: the training's config.
        args: the assumptions, from `assumptions`.

    Raises:
        UserError: the config names no architecture of this package, no number of updates, or an
            invalid share.
    """
    tokens = config.gpus * config.integer("--max-tokens", 4000) * config.integer("--update-freq", 1)
    longest = max(args.source_length, args.target_length)
    updates = _updates(name, config, tokens / longest, args.epoch_sentences) - args.done
    if updates < 1:
        raise UserError(f"`--done` must be below the {args.done + updates} updates of {name}")
    share = _translated_back(config)
    model, terms = described_model(config, args)
    flops = model["flops"]
    of_terms = {term: flops[term]["total"] for term in terms if term != IN_TRAINING}
    lexical, with_lexical = of_terms.pop("lexical", 0), 0
    if lexical:  # it is on at the beginning alone
        with_lexical = min(updates, max(0, config.integer("--lexical-updates", 1) - args.done))
    each = flops["training"]["total"] + sum(of_terms.values())
    translated = flops["generation"]["total"]
    each, lexical = each + share * (each + translated), lexical * (1 + share)
    total = float(tokens / longest * (updates * each + with_lexical * lexical))
    return Estimate(
        name=name,
        parameters=model["total_parameters"],
        updates=updates,
        flops=total,
        hours=total / (args.tflops * 1e12 * args.utilization) / 3600,
        upper_bound=share > 0 and config.flags.get("--robt-targets") == ["listed"],
    )


def described_model(
    config: Config, args: argparse.Namespace
) -> tuple[dict[str, Any], Sequence[str]]:
    """The description of a config's model, and the names of its loss terms.

    Args:
        config: the training's config.
        args: the assumptions, from `assumptions`.

    Raises:
        UserError: the config names no architecture of this package.
    """
    parser = RaisingParser(add_help=False, allow_abbrev=False)
    description_options(parser)
    lengths = ["--source-length", args.source_length, "--target-length", args.target_length]
    sizes = ["--vocab-size", args.vocab_size, "--num-languages", args.num_languages]
    sizes += ["--num-pairs", args.num_pairs]
    words = [*config.words(), *sizes, *lengths, "--beam", 1]
    options, _ = parser.parse_known_args(list(map(str, words)))
    return describe(options), _terms(config)


def _translated_back(config: Config) -> float:
    """The share of sentences that ROBT translates back; 0 without ROBT."""
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


def _updates(name: str, config: Config, sentences: float, epoch: int | None) -> int:
    """The number of updates, with `sentences` sentences each.

    Raises:
        UserError: the config has no end, or ends by epochs of unknown size.
    """
    if "--max-update" in config.flags:
        return config.integer("--max-update", 1)
    if "--max-epoch" not in config.flags:
        raise UserError(f"`--max-update` must be in {name}; its training has no end")
    if epoch is None:
        raise UserError(f"`--epoch-sentences` must be given for {name}, which ends by epochs")
    return math.ceil(config.integer("--max-epoch", 1) * epoch / sentences)


def _terms(config: Config) -> list[str]:
    """The loss terms with a non-zero weight."""
    flags = config.flags
    (criterion,) = flags.get("--criterion", [""])
    named = ",".join(flags.get("--loss-terms", [])).split(",")
    terms = [term for term in (*named, CRITERIONS.get(criterion, "")) if term]
    return [term for term in terms if flags.get(f"--{term}-weight") not in (["0"], ["0.0"])]


def report(estimates: Sequence[tuple[int, Estimate]], assumed: Sequence[str]) -> Iterator[str]:
    """A line for each training with its number of runs, the total, and the assumptions."""
    width = max(len("config"), *(len(estimate.name) for _, estimate in estimates))
    yield f"times  {'config':{width}}  parameters   updates  EFLOP each  GPU hours each"
    for count, estimate in estimates:
        yield (
            f"{count:5}  {estimate.name:{width}}  {estimate.parameters / 1e6:9.1f}M"
            f"  {estimate.updates:8,}  {_short(estimate.flops / 1e18):>10}"
            f"  {_short(estimate.hours):>14}"
        )
    trainings = sum(count for count, _ in estimates)
    hours = sum(count * estimate.hours for count, estimate in estimates)
    yield (
        f"{trainings} training run{'' if trainings == 1 else 's'}, {_short(hours)} GPU hours. "
        f"This is an estimate, not a measurement; it assumes {'; '.join(dict.fromkeys(assumed))}"
    )
    if bounds := [estimate.name for _, estimate in estimates if estimate.upper_bound]:
        yield (
            f"upper bound for {', '.join(bounds)}: targets that --robt-targets listed skips are "
            "counted"
        )


def assumption(args: argparse.Namespace) -> str:
    """The assumptions, in words."""
    return (
        f"sentences of {args.source_length} and {args.target_length} tokens, batches without "
        f"padding, and {args.utilization:.0%} of {args.tflops:g} TFLOP/s"
    )


def _short(value: float) -> str:
    """A number with one decimal place, or with two significant digits if below 1."""
    return f"{value:,.1f}" if value >= 1 else f"{value:.2g}"
