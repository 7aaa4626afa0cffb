"""`tdo curve`: a training's page, scores or losses over updates, scores over a hyperparameter."""

from __future__ import annotations

import argparse

from tdo_plugin.cli import curve_losses, curve_sweep, curve_training, curve_updates
from tdo_plugin.cli.command import declare_parts

HELP = "show a training, scores or losses over its updates, or scores over a hyperparameter"
EXAMPLE = curve_updates.EXAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the four kinds of curve."""
    parts = {
        "training": curve_training,
        "updates": curve_updates,
        "losses": curve_losses,
        "sweep": curve_sweep,
    }
    declare_parts(parser, parts)
