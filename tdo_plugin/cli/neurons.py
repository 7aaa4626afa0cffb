"""`tdo neurons`: what each neuron matters to which language pairs, and models made by that."""

from __future__ import annotations

import argparse

from tdo_plugin.cli import ablate, allocate, draw, importance
from tdo_plugin.cli.command import declare_parts

HELP = "measure neurons' importance to language pairs, divide them up, ablate and draw them"
EXAMPLE = importance.EXAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the commands."""
    parts = {"importance": importance, "allocate": allocate, "ablate": ablate, "draw": draw}
    declare_parts(parser, parts)
