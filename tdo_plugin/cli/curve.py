"""`tdo curve`: scores over the updates of trainings, or over a choice such as a threshold."""

from __future__ import annotations

import argparse

from tdo_plugin.cli import curve_sweep, curve_updates
from tdo_plugin.cli.command import declare_parts

HELP = "show scores over the updates of a training, or over a choice such as a threshold"
EXAMPLE = curve_updates.EXAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what scores can be shown over."""
    declare_parts(parser, {"updates": curve_updates, "sweep": curve_sweep})
