"""`tdo neurons`: measure, allocate, ablate and draw the neurons of language pairs."""

from __future__ import annotations

import argparse

from tdo_plugin.cli import ablate, allocate, draw, importance
from tdo_plugin.cli.command import declare_parts

HELP = "measure neurons' importance to language pairs; allocate, ablate and draw neurons"
EXAMPLE = importance.EXAMPLE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the commands."""
    parts = {"importance": importance, "allocate": allocate, "ablate": ablate, "draw": draw}
    declare_parts(parser, parts)
