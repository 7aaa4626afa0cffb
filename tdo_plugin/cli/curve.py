"""`tdo curve`: scores over training updates, or over a hyperparameter such as a threshold."""

from __future__ import annotations

import argparse

from tdo_plugin.cli import curve_sweep, curve_updates
from tdo_plugin.cli.command import declare_parts

HELP = "show scores over training updates, or over a hyperparameter such as a threshold"
EXAMPLE = curve_updates.EXAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the two kinds of curve."""
    declare_parts(parser, {"updates": curve_updates, "sweep": curve_sweep})
