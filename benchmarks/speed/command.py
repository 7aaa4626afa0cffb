"""`tdo bench`: measure, print each row when it is ready, write the rows and the plot."""

from __future__ import annotations

import json
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from shlex import split

from speed import hardware, plan, plot, roofline, utilisation
from speed.measuring import Arena, Measurement
from speed.plan import CTRANSLATE2, Comparison
from speed.rows import Row, head, line, rows
from speed.text import Text, embedded, own
from speed.worker_pool import WorkerPool
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import write_text

PLOT_ROUNDS, GROWTH_ROUNDS, TABLE_ROUNDS = 2, 3, 5


def bench(args: Namespace) -> int:
    """Run the command.

    Raises:
        UserError: an invalid option, or a system cannot be run.
    """
    if args.what == "half-precision":
        from speed.half_precision import half_precision

        return half_precision(args, options(args.options))
    device = "cpu" if args.against or args.roofline else hardware.device(args.device)
    precision = hardware.precision(device, args.precision)
    text, extra = texts(args.data), options(args.options)
    facts = hardware.facts(device, precision)
    if args.against:
        facts["ctranslate2"] = version_of_ctranslate2()
    if args.cpu_time:
        facts["clock"] = "CPU time"
    if extra:
        facts["options"] = args.options
    print(*(f"{name} {value}" for name, value in facts.items()), sep=", ")
    print(roofline.head() if args.roofline else head(), flush=True)
    with tempfile.TemporaryDirectory(prefix="tdo-bench-") as folder:
        team = WorkerPool(Path(folder), device)
        try:
            arena = Arena(team, device, precision, text, extra, _say, args.cpu_time)
            if args.roofline:
                _show_roofline(arena, facts, args)
            else:
                _measure(arena, comparisons(args, device), facts, args)
        finally:
            team.end()
    return 0


def options(words: str) -> list[str]:
    """The fairseq-train options for our system.

    Raises:
        UserError: a missing quotation mark.
    """
    try:
        return split(words)
    except ValueError as error:
        raise UserError(f"`--options` must be valid shell words; {error}") from None


def version_of_ctranslate2() -> str:
    """The installed version; raises UserError if there is none."""
    try:
        return metadata.version(CTRANSLATE2)
    except metadata.PackageNotFoundError:
        raise UserError(
            "`--against` requires the package ctranslate2 (pip install ctranslate2); it is missing"
        ) from None


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def texts(data: Path | None) -> Callable[[Comparison], Text]:
    """A function that chooses the text of a comparison: for the table the user's, if given."""
    generated = cache(embedded)
    user_text = own(data) if data else None
    return lambda comparison: (
        user_text if user_text and not comparison.axis else generated(comparison.setting.languages)
    )


def comparisons(args: Namespace, device: str) -> Sequence[tuple[Comparison, int]]:
    """The comparisons to measure, and the number of rounds for each."""
    kinds = plan.CHOSEN.get(args.what, tuple(plan.METRICS))
    return [each for each in _every(args, device) if each[0].kind in kinds]


def _every(args: Namespace, device: str) -> Sequence[tuple[Comparison, int]]:
    if args.against:
        engines = plan.against_ctranslate2(args.size)
        return [(comparison, args.rounds or TABLE_ROUNDS) for comparison in engines]
    if args.growth:
        return [(comparison, args.rounds or GROWTH_ROUNDS) for comparison in plan.growth(args.size)]
    if args.each:
        return [
            (comparison, args.rounds or TABLE_ROUNDS) for comparison in plan.each(args.size, device)
        ]
    table = [
        (comparison, args.rounds or TABLE_ROUNDS) for comparison in plan.table(args.size, device)
    ]
    series = plan.plotted(args.size) if args.plot else []
    return [*table, *((comparison, PLOT_ROUNDS) for comparison in series)]


def _show_roofline(arena: Arena, facts: dict[str, object], args: Namespace) -> None:
    comparison = Comparison("training", plan.TABLE[args.size], (plan.OURS, plan.STOCK))
    every = arena.roofline(comparison)
    print(*map(roofline.line, every), sep="\n", flush=True)
    if args.json:
        report = [
            {**asdict(part), "settings": {**comparison.settings(), **facts}} for part in every
        ]
        write_text(args.json, [json.dumps(report, indent=1)])
        print(args.json.resolve())


def _measure(
    arena: Arena,
    planned: Sequence[tuple[Comparison, int]],
    facts: dict[str, object],
    args: Namespace,
) -> None:
    report: list[Row] = []
    series: list[Measurement] = []
    for comparison, rounds in planned:
        measurement = arena.measure(comparison, rounds)
        text = arena.text(comparison)
        noted = {**facts, "text": text.name, "languages": len(text.languages)}
        used = utilisation.rows(measurement, arena.batches(comparison), noted)
        new = [*rows(measurement, noted), *used]
        print(*map(line, new), sep="\n", flush=True)
        report += new
        series += [measurement] if comparison.axis else []
        if args.json:  # keep results in case a later comparison fails
            write_text(args.json, [json.dumps([asdict(row) for row in report], indent=1)])
    if args.json:
        print(args.json.resolve())
    if args.plot:
        plot.draw(series, f"{facts['hardware']}, {facts['precision']}", args.plot)
        print(args.plot.resolve())
