"""Interleaved benchmarks of several ways to make an update, in one process on the same batches.

The first way is the baseline. The table and the JSON file have each way's median seconds, and the
ratio to the baseline in the same round: median, minimum and maximum.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from speed import hardware
from speed.batches import Batch, by_tokens, target_tokens
from speed.jobs import Job
from speed.plan import MEANINGLESS, Setting
from speed.text import Text, embedded, own
from tdo_plugin.launch.environment import settings as environment

Seconds = dict[str, list[float]]  # by way, round by round


@dataclass(frozen=True)
class Case:
    """The input of all ways; `options` are further options of fairseq-train."""

    setting: Setting
    text: Text
    batches: tuple[Batch, ...]
    device: str
    precision: str
    options: str

    def job(self, system: str, *extra: str) -> Job:
        """A training job on these batches."""
        return Job(
            *("training", system, self.setting, self.text.directions, self.batches),
            *(self.device, self.precision),
            extra=extra,
        )


def turns(
    ways: Mapping[str, Callable[[int], float]], rounds: int, say: Callable[[str], None]
) -> Seconds:
    """Each way's seconds per round, in alternating order, after a warm-up round.

    Args:
        ways: functions by name that make an update on a batch, given its number, and return its
            seconds.
        rounds: number of rounds, without the warm-up.
        say: called with a line about every update.
    """
    times: Seconds = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name in [*ways][:: (-1) ** number]:
            seconds = ways[name](number)
            say(f"round {number}, {name}: {seconds:.2f} s")
            if number:
                times[name].append(seconds)
    return times


def rows(seconds: Seconds, metric: str, settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each way except the baseline: its time relative to the baseline's."""
    baseline, *others = seconds
    for name in others:
        pairs = zip(seconds[name], seconds[baseline], strict=True)
        ratios = [mine / plain for mine, plain in pairs]
        figures = {
            "unit": "seconds per update",
            "cost": statistics.median(seconds[name]),
            "baseline_cost": statistics.median(seconds[baseline]),
            "rounds": len(ratios),
        }
        yield {
            "system": name,
            "baseline": baseline,
            "metric": metric,
            "ratio": statistics.median(ratios),
            "spread": [min(ratios), max(ratios)],
            "settings": {**settings, **figures},
        }


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    (least, most), cost = row["spread"], row["settings"]["cost"]
    return (
        f"{row['system']:<12} {cost:8.3f} s per update, {row['ratio']:.2f} x the plain update "
        f"({least:.2f} to {most:.2f})"
    )


def run(
    about: str,
    sizes: Mapping[str, Setting],
    metric: str,
    measure: Callable[[Namespace, Case, Callable[[str], None]], Seconds],
) -> None:
    """The command: measure, print, write.

    Args:
        about: the script's docstring.
        sizes: the settings for `--size`; the last is the default.
        metric: a description of the measured quantity.
        measure: measures, given the command line, the case, and a function for progress lines.
    """
    args = _arguments(about, list(sizes))
    variables = environment(int(args.device == "cuda"))
    if any(name not in os.environ for name in variables):  # the C library reads them at start-up
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **variables})
    case = _case(args, sizes[args.size])
    begin = time.monotonic()
    seconds = measure(args, case, lambda message: print(message, file=sys.stderr))
    facts = _facts(case, (time.monotonic() - begin) / 60)
    report = list(rows(seconds, metric, facts))
    plain, *_ = seconds
    print(f"{plain:<12} {statistics.median(seconds[plain]):8.3f} s per update")
    print(*map(line, report), sep="\n")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _arguments(about: str, sizes: Sequence[str]) -> Namespace:
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--size", choices=sizes, default=sizes[-1])
    parser.add_argument(
        "--data", type=Path, help="a text or data folder (default: the embedded corpus)"
    )
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--batch-tokens", type=int, metavar="N")
    parser.add_argument("--sentence-length", type=int, metavar="N")
    parser.add_argument("--vocabulary", type=int, metavar="N")
    parser.add_argument("--options", default="", help="further options of fairseq-train")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--precision", choices=["fp32", "fp16", "bf16"])
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _case(args: Namespace, size: Setting) -> Case:
    overrides = {
        name: value
        for name in ("batch_tokens", "sentence_length", "vocabulary")
        if (value := getattr(args, name)) is not None
    }
    setting = replace(size, **overrides)
    text = own(args.data) if args.data else embedded(setting.languages)
    device = hardware.device(None if args.device == "auto" else args.device)
    return Case(
        setting,
        text,
        by_tokens(text, setting.sentence_length, setting.batch_tokens),
        device,
        hardware.precision(device, args.precision),
        args.options,
    )


def _facts(case: Case, minutes: float) -> dict[str, Any]:
    sizes = asdict(case.setting).items()
    return {
        **{name: value for name, value in sizes if name not in MEANINGLESS["training"]},
        **hardware.facts(case.device, case.precision),
        "text": case.text.name,
        "options": case.options,
        "sentences": [len(batch) for batch in case.batches],
        "target_tokens": [target_tokens(batch) for batch in case.batches],
        "minutes": round(minutes, 1),
    }
