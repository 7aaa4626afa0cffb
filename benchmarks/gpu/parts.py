"""The parts of a measurement on a GPU, from parts.toml, with the values of a command line."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
PYTHON = str(HERE.parents[1] / ".venv" / "bin" / "python")  # as in scripts/lib.sh
PLAN = tomllib.loads((HERE / "parts.toml").read_text(encoding="utf-8"))
REPLACED = re.compile(r"\{(\w+)\}")

Values = dict[str, str | list[str]]


class Part(NamedTuple):
    """A command, the name of its log, and its limit in seconds."""

    name: str
    limit: float
    command: list[str]


def planned(args: Namespace) -> Iterator[Part]:
    """The parts of a command line, in order.

    Each is formed when the ones before have been run: the direction that is translated is read from
    the data folder.
    """
    if not args.data:
        yield from _formed("archives" if args.archives else "corpus", args)
    for part in measurements(args):
        if not args.parts or part.name in args.parts:
            yield part


def measurements(args: Namespace) -> Iterator[Part]:
    """All parts that `--parts` can select."""
    return _formed("parts", args)


def _formed(tables: str, args: Namespace) -> Iterator[Part]:
    for table in PLAN[tables]:
        values = _values(args)
        limit = table["seconds"] * args.minutes // 10
        for each in filled(table.get("each", "once"), values):
            values["each"] = each
            yield Part(table["name"].format_map(values), limit, filled(table["command"], values))


def _values(args: Namespace) -> Values:
    """What replaces the names in parts.toml."""
    options = {name: value.split() for name, value in PLAN[args.device].items()}
    data = args.data or args.out / "data"
    # of the embedded corpus, parts that need only sentences take as many as they need
    text = ["--data", str(data)] if args.data or args.archives else []
    pair = _first_pair(data)
    return {
        **options,
        "archives": str(args.archives),
        "benchmarks": str(HERE.parent),
        "checkpoint": str(args.out / "model" / "checkpoint_last.pt"),
        "data": str(data),
        "device": args.device,
        "hours": f"{0.0025 * args.minutes:.4f}",
        "out": str(args.out),
        "pair": pair,
        "python": PYTHON,
        "source": pair.rpartition("-")[0],
        "systems": [f"{name}={args.out}/translated-{name}" for name in options["precisions"]],
        "tdo": [PYTHON, "-m", "tdo_plugin"],
        "text": text,
    }


def _first_pair(data: Path) -> str:
    """The first direction with a test set; before the data folder is made, that of the corpus."""
    path = data / "test-pairs.txt"
    pairs = path.read_text(encoding="utf-8").split() if path.is_file() else []
    return (*pairs, "en-de")[0]


def filled(template: str, values: Values) -> list[str]:
    """The words of a template; a word that is only a name may become several, or none."""
    words: list[str] = []
    for word in template.split():
        name = REPLACED.fullmatch(word)
        value = values[name[1]] if name else word.format_map(values)
        words += [value] if isinstance(value, str) else value
    return words
