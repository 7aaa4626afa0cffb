"""Measure everything that the documents leave open for a GPU, in about ten minutes.

    bash benchmarks/gpu/run.sh [--data DIR | --from DIR] [--out DIR] [--minutes N]
        [--parts A,B,...] [--device cuda|cpu] [--dry-run]

Speed, memory, cost of methods, first updates against a CPU, half precision, and a two-stage system
of N = 6 and d = 512 that is trained for a minute, translated, scored, exported and served. A part
that fails or exceeds its limit does not end the others; OUT/summary.md lists it. Nothing needs the
network.

parts.toml has the parts. OUT/PART.log is what a part printed; OUT/parts.tsv has a line for each:
its name, its outcome, the seconds it took, its limit, and its command.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from parts import HERE, PYTHON, Part, measurements, planned

from tdo_compat.errors import install, print_line
from tdo_plugin.data.databin import MARK
from tdo_plugin.launch.parser import Parser, whole
from tdo_plugin.runtime.commands import Commands
from tdo_plugin.runtime.signals import ended_by_signal

NAME = "run.sh"  # in messages


def measure(parts: Iterable[Part], out: Path, seconds: float) -> None:
    """Run parts one after another, and record them.

    Args:
        parts: may be formed while they are run.
        out: folder for their logs and parts.tsv.
        seconds: limit of all parts together.
    """
    end = time.monotonic() + seconds
    programs = Commands()
    with programs.threads(1) as pool:  # this thread gets the signals
        for part in parts:
            print_line(shown(part.command))
            begin = time.monotonic()
            limit = min(part.limit, max(0.0, end - begin))
            log = out / f"{part.name}.log"
            outcome = pool.submit(_run, programs, part.command, log, limit).result()
            took = time.monotonic() - begin
            row = (part.name, outcome, f"{took:.0f}", f"{limit:.0f}", shlex.join(part.command))
            with (out / "parts.tsv").open("a", encoding="utf-8") as table:
                table.write("\t".join(row) + "\n")
            print_line(f"{part.name}: {outcome} after {took:.0f} s")


def _run(programs: Commands, command: Sequence[str], log: Path, limit: float) -> str:
    """Run a command; returns its outcome."""
    if not limit:
        return "skipped"
    try:
        return "failed" if programs.run(command, log, {}, limit=limit) else "done"
    except subprocess.TimeoutExpired:
        return "cut off"


def shown(command: Sequence[str]) -> str:
    """A command so that a shell can read it."""
    return f"+ {shlex.join(command)}"


def options(words: Sequence[str] | None = None) -> Any:
    """The options of a command line."""
    parser = Parser(prog=NAME, description=__doc__.partition("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="data folder of `tdo prepare multi30k`")
    add(
        "--from",
        dest="archives",
        type=Path,
        metavar="DIR",
        help="folder with the archives of Multi30k, which are prepared first (default: the "
        "embedded corpus)",
    )
    add(
        "--out",
        type=Path,
        default=Path("runs", "gpu"),
        metavar="DIR",
        help="results: summary.md, JSON files, logs (default: runs/gpu); it must be new or empty",
    )
    add(
        "--minutes",
        type=partial(whole, lowest=1, highest=99),
        default=10,
        metavar="N",
        help="time limit of all parts together (default: 10), of which each part has a share",
    )
    add(
        "--parts",
        type=lambda names: names.replace(",", " ").split(),
        metavar="A,B,...",
        help="only these parts and the data; a wrong name lists all parts",
    )
    add(
        "--device",
        choices=("cuda", "cpu"),
        default="cuda",
        help="cpu is a rehearsal with tiny sizes: the numbers mean nothing (default: cuda)",
    )
    add("--dry-run", action="store_true", help="only print the commands")
    args = parser.parse_args(words)
    for mistake in _mistakes(args):
        parser.error(mistake)
    return args


def _mistakes(args: Namespace) -> Iterator[str]:
    if args.data and args.archives:
        yield f"`--from` must be left out with --data; it is {args.archives}"
    if args.archives and not args.archives.is_dir():
        yield f"`--from` must be a folder; it is {args.archives}"
    if args.data and not (args.data / MARK).is_file():
        yield f"`--data` must be a data folder (tdo prepare); it is {args.data}"
    known = [part.name for part in measurements(args)]
    for name in args.parts or ():
        if name not in known:
            yield f"`--parts` must be among {','.join(known)}; it has {name}"
    if args.out.exists() and not (args.out.is_dir() and not any(args.out.iterdir())):
        yield f"`--out` must be new or empty; it is {args.out}"


def main() -> None:
    """Measure, then write the summary."""
    args = options()
    summary = [PYTHON, str(HERE / "summary.py"), str(args.out)]
    if args.dry_run:
        for command in (*(part.command for part in planned(args)), summary):
            print_line(shown(command))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    with ended_by_signal(NAME):
        measure(planned(args), args.out, 60 * args.minutes)
    print_line(shown(summary))
    os.execv(summary[0], summary)


if __name__ == "__main__":
    install()
    main()
