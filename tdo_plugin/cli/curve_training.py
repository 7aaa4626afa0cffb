"""`tdo curve training`: the page of a training's folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_plugin.errors import UserError

HELP = "write index.html into a training's folder: state, losses, scores, settings, versions"
EXAMPLE = "tdo curve training my-model"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="SAVE_DIR", help="a folder of checkpoints"
    )


def run(args: argparse.Namespace) -> int:
    """Write each page; print its state and place.

    A training writes its page itself; this one shows what a killed run could not note, and makes
    the page of a folder that has none.
    """
    from tdo_plugin.recording.folder_page import state_line, write_page
    from tdo_plugin.recording.runs import FILE
    from tdo_plugin.recording.training_folder import LAST, VALIDATIONS

    known = (FILE, VALIDATIONS, LAST)
    for folder in args.folders:
        if not any((folder / name).is_file() for name in known):
            raise UserError(
                f"`SAVE_DIR` must be a folder of a training; {folder} has none of "
                f"{', '.join(known)}"
            )
    for folder in args.folders:
        try:
            read = write_page(folder, from_checkpoint=True)
        except ValueError as error:
            raise UserError(f"`SAVE_DIR` must hold whole files; {folder}: {error}") from None
        print(f"{folder}: {state_line(read)}")
        print((folder / "index.html").resolve(), flush=True)
    return 0
