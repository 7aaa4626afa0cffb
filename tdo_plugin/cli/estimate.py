"""`tdo estimate`: GPU hours of training runs from FLOPs and an assumed speed, or their memory."""

from __future__ import annotations

import argparse
from collections import Counter

from tdo_plugin.cli.config_argument import CONFIG, scale_option
from tdo_plugin.costs import training_bytes, training_hours
from tdo_plugin.launch.parser import at_least

HELP = "estimate the GPU hours of training runs from their FLOPs, or their memory"
EXAMPLE = "tdo estimate tdo/ted19/tdo-prefix+instrucl --tflops 125"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "configs",
        nargs="+",
        metavar="CONFIG",
        help=f"{CONFIG}; a config given twice counts twice",
    )
    parser.add_argument(
        "--memory",
        type=at_least(1),
        metavar="WORKERS",
        help="instead of hours: bytes of one of this many workers, by part, without and with "
        "--ddp-backend fully_sharded, in the config's precision; for one worker also of its "
        "process on a CPU",
    )
    scale_option(parser)
    training_hours.assumption_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print a line for each config, the total, and the assumptions; or a table for each."""
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
        if args.memory is not None:
            for line in training_bytes.report(named.name, named.config, each, args.memory):
                print(line)
            continue
        estimates.append(
            (counts[named.place], training_hours.estimate(named.name, named.config, each))
        )
        assumed.append(training_hours.assumption(each))
    lines = [training_bytes.note(args.memory)] if args.memory else []
    for line in lines or training_hours.report(estimates, assumed):
        print(line)
    return 0
