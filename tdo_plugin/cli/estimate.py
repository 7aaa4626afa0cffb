"""`tdo estimate`: GPU hours of configs' trainings, by FLOPs and an assumed speed."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.config_argument import CONFIG, scale_option
from tdo_plugin.costs.training_hours import (
    assumption,
    assumption_options,
    check_assumptions,
    estimate,
    report,
)

if TYPE_CHECKING:
    from tdo_plugin.launch.training_config import Config

HELP = "estimate the GPU hours of configs' trainings from their FLOPs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "configs",
        nargs="+",
        metavar="CONFIG",
        help=f"{CONFIG}, or a grid (.json), all of its trainings; one that is there twice is "
        "trained twice",
    )
    scale_option(parser)
    assumption_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line for each config, their sum, and what was assumed."""
    check_assumptions(args)
    trainings = list(_trainings(args.configs, args.scale))
    counts = Counter(place for place, _, _ in trainings)
    by_place = {place: (name, config) for place, name, config in trainings}
    estimates = [
        (counts[place], estimate(name, config, args)) for place, (name, config) in by_place.items()
    ]
    for line in report(estimates, [assumption(args)]):
        print(line)
    return 0


def _trainings(texts: Sequence[str], scale: str | None) -> Iterator[tuple[str, str, Config]]:
    """Each config with its place and its name; a grid's have names as if in a folder."""
    from tdo_plugin.experiments.named_configs import named_config
    from tdo_plugin.grid.cells import cells_of, runs_of
    from tdo_plugin.grid.description import read_grid

    for text in texts:
        if text.endswith(".json"):
            grid = Path(text)
            for run in runs_of(cells_of(read_grid(grid))):
                yield f"{text}/{run.name}", f"{grid.stem}/{run.name}", run.config
        else:
            named = named_config(text, scale)
            yield named.place, named.name, named.config
