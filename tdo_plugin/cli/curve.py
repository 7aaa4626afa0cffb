"""`tdo curve`: a training's page, scores over updates, or over a choice such as a threshold."""

from __future__ import annotations

import argparse

from tdo_plugin.cli import curve_sweep, curve_training, curve_updates
from tdo_plugin.cli.command import declare_parts

HELP = "show a training, scores over updates, or scores over a choice such as a threshold"
EXAMPLE = curve_updates.EXAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what scores can be shown over."""
    parts = {"training": curve_training, "updates": curve_updates, "sweep": curve_sweep}
    declare_parts(parser, parts)
