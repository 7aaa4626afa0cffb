"""`tdo estimate`: GPU hours of training runs from FLOPs and an assumed speed."""

from __future__ import annotations

import argparse
from collections import Counter

from tdo_plugin.cli.config_argument import CONFIG, scale_option
from tdo_plugin.costs import training_hours

HELP = "estimate the GPU hours of training runs from their FLOPs"
EXAMPLE = "tdo estimate tdo/ted19/tdo-prefix+instrucl --tflops 125"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "configs",
        nargs="+",
        metavar="CONFIG",
        help=f"{CONFIG}; a config given twice counts twice",
    )
    scale_option(parser)
    training_hours.assumption_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line for each config, the total, and the assumptions."""
    from tdo_plugin.experiments.estimates import usual_assumptions
    from tdo_plugin.experiments.named_configs import named_config

    training_hours.assumptions(args)
    trainings = [named_config(text, args.scale) for text in args.configs]
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
