"""`tdo flags`: the fairseq flags that a config file comes to."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

HELP = "print the fairseq flags of a config file, one a line"
EXAMPLE = "tdo flags configs/own-data/tdo-instrucl.conf"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a file such as in configs/")


def run(args: argparse.Namespace) -> int:
    """Print the resolved flags, behind the lines that are not fairseq's as comments."""
    from tdo_plugin.launch.training_config import read_config

    config = read_config(args.config)
    print(f"# gpus {config.gpus}")
    print(f"# precision {config.precision}")
    if config.directions != "*":
        print(f"# directions {config.directions}")
    for flag, values in config.flags.items():
        print(shlex.join([flag, *values]))
    return 0
