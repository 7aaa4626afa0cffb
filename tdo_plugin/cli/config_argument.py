"""The CONFIG argument of commands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdo_plugin.experiments.named_configs import NamedConfig

CONFIG = "a file of flags, or FILE/SYSTEM of an experiment file, such as quickstart/tdo-instrucl"


def scale_option(parser: argparse.ArgumentParser) -> None:
    """Declare the scale of a system of an experiment file."""
    parser.add_argument(
        "--scale",
        metavar="SCALE",
        help="scale of FILE/SYSTEM (default: full if its file has that scale, else the first)",
    )


def config_of(args: argparse.Namespace) -> NamedConfig:
    """The config that `args.config` names.

    Raises:
        UserError: the config cannot be read; see `named_config`.
    """
    from tdo_plugin.experiments.named_configs import named_config

    return named_config(args.config, args.scale)
