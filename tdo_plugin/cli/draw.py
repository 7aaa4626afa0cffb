"""`tdo neurons draw`: figures 2 and 3 of the neuron allocation paper, and their numbers."""

from __future__ import annotations

import argparse

from tdo_plugin.cli import draw_allocation, draw_importance
from tdo_plugin.cli.command import declare_parts

HELP = "draw measured importance or the allocation of neurons (neuron allocation paper)"
EXAMPLE = draw_importance.EXAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be drawn."""
    declare_parts(parser, {"importance": draw_importance, "allocation": draw_allocation})
