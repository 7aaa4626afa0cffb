"""`tdo bench`: measure, print each row as it comes, write the rows and the plot."""

from __future__ import annotations

import json
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from shlex import split

from speed import hardware, plan, plot, utilisation
from speed.measuring import Arena, Measurement
from speed.plan import Contest
from speed.rows import Row, head, line, rows
from speed.team import Team
from speed.text import Text, embedded, own
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import write_text

PLOT_ROUNDS, GROWTH_ROUNDS, TABLE_ROUNDS = 2, 3, 5


def bench(args: Namespace) -> int:
    """Run the command.

    Raises:
        UserError: an option is wrong, or a system cannot be run.
    """
    device = hardware.device(args.device)
    precision = hardware.precision(device, args.precision)
    text, extra = texts(args.data), options(args.options)
    facts = hardware.facts(device, precision)
    if extra:
        facts["options"] = args.options
    print(*(f"{name} {value}" for name, value in facts.items()), sep=", ")
    print(head(), flush=True)
    with tempfile.TemporaryDirectory(prefix="tdo-bench-") as folder:
        team = Team(Path(folder), device)
        try:
            arena = Arena(team, device, precision, text, extra, _say)
            _measure(arena, contests(args, device), facts, args)
        finally:
            team.end()
    return 0


def options(words: str) -> list[str]:
    """What is given to fairseq-train for our own system.

    Raises:
        UserError: a quotation mark is missing.
    """
    try:
        return split(words)
    except ValueError as error:
        raise UserError(f"`--options` must be readable as a shell's words; {error}") from None


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def texts(data: Path | None) -> Callable[[Contest], Text]:
    """Whose text a contest has: the table's is the user's, where there is some."""
    generated = cache(embedded)
    user_text = own(data) if data else None
    return lambda contest: (
        user_text if user_text and not contest.axis else generated(contest.setting.languages)
    )


def contests(args: Namespace, device: str) -> Sequence[tuple[Contest, int]]:
    """What is to be measured, and in how many rounds."""
    if args.growth:
        return [(contest, args.rounds or GROWTH_ROUNDS) for contest in plan.growth(args.size)]
    if args.each:
        return [(contest, args.rounds or TABLE_ROUNDS) for contest in plan.each(args.size, device)]
    table = [(contest, args.rounds or TABLE_ROUNDS) for contest in plan.table(args.size, device)]
    series = plan.plotted(args.size) if args.plot else []
    return [*table, *((contest, PLOT_ROUNDS) for contest in series)]


def _measure(
    arena: Arena,
    planned: Sequence[tuple[Contest, int]],
    facts: dict[str, object],
    args: Namespace,
) -> None:
    report: list[Row] = []
    series: list[Measurement] = []
    for contest, rounds in planned:
        measurement = arena.measure(contest, rounds)
        text = arena.text(contest)
        noted = {**facts, "text": text.name, "languages": len(text.languages)}
        used = utilisation.rows(measurement, arena.batches(contest), noted)
        new = [*rows(measurement, noted), *used]
        print(*map(line, new), sep="\n", flush=True)
        report += new
        series += [measurement] if contest.axis else []
        if args.json:  # what is measured is kept, whatever comes next
            write_text(args.json, [json.dumps([asdict(row) for row in report], indent=1)])
    if args.json:
        print(args.json.resolve())
    if args.plot:
        plot.draw(series, f"{facts['hardware']}, {facts['precision']}", args.plot)
        print(args.plot.resolve())
