"""`tdo flags`: print the fairseq flags of a config."""

from __future__ import annotations

import argparse
import shlex

from tdo_plugin.cli.config_argument import CONFIG, config_of, scale_option

HELP = "print the fairseq flags of a config, one per line"
EXAMPLE = "tdo flags own-data/tdo-instrucl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", metavar="CONFIG", help=CONFIG)
    scale_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print the resolved flags, after settings that are not fairseq's as comments."""
    named = config_of(args)
    config = named.config
    print(f"# gpus {config.gpus}")
    print(f"# precision {config.precision}")
    if config.directions != "*":
        print(f"# directions {config.directions}")
    for option, why in named.needed.items():
        print(f"# {option} must be given: it {why}")
    for flag, values in config.flags.items():
        print(shlex.join([flag, *values]))
    return 0
