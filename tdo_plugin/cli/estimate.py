"""`tdo estimate`: GPU hours of configs' trainings, by FLOPs and an assumed speed."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.config_argument import CONFIG, scale_option
from tdo_plugin.costs import training_hours

if TYPE_CHECKING:
    from tdo_plugin.experiments.named_configs import NamedConfig

HELP = "estimate the GPU hours of configs' trainings from their FLOPs"
EXAMPLE = "tdo estimate tdo/ted19/tdo-prefix+instrucl --tflops 125"


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
    training_hours.assumption_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line for each config, their sum, and what was assumed."""
    from tdo_plugin.experiments.estimates import usual_assumptions

    training_hours.assumptions(args)
    trainings = list(_trainings(args.configs, args.scale))
    counts = Counter(training.place for training in trainings)
    estimates, assumed = [], []
    for named in {training.place: training for training in trainings}.values():
        usual = []
        if named.setting is not None and named.system is not None:
            usual = usual_assumptions(named.setting, named.system)
        each = training_hours.assumptions(args, usual)
        estimates.append(
            (counts[named.place], training_hours.estimate(named.name, named.config, each))
        )
        assumed.append(training_hours.assumption(each))
    for line in training_hours.report(estimates, assumed):
        print(line)
    return 0


def _trainings(texts: Sequence[str], scale: str | None) -> Iterator[NamedConfig]:
    """Each config; a grid's have names as if they were in a folder."""
    from tdo_plugin.experiments.named_configs import NamedConfig, named_config
    from tdo_plugin.grid.cells import cells_of, runs_of
    from tdo_plugin.grid.description import read_grid

    for text in texts:
        if text.endswith(".json"):
            grid = Path(text)
            for run in runs_of(cells_of(read_grid(grid))):
                yield NamedConfig(run.config, f"{grid.stem}/{run.name}", f"{text}/{run.name}")
        else:
            yield named_config(text, scale)
