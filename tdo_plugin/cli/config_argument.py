"""CONFIG on the command line of commands that take one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdo_plugin.experiments.named_configs import NamedConfig

CONFIG = "a file of flags, or FILE/SYSTEM of experiments, such as quickstart/tdo-instrucl"


def scale_option(parser: argparse.ArgumentParser) -> None:
    """Declare at which scale a system of experiments is."""
    parser.add_argument(
        "--scale",
        metavar="SCALE",
        help="of a system of experiments (default: full where its file has that, else the first)",
    )


def config_of(args: argparse.Namespace) -> NamedConfig:
    """What `args.config` names.

    Raises:
        UserError: nothing that can be read; see there.
    """
    from tdo_plugin.experiments.named_configs import named_config

    return named_config(args.config, args.scale)
