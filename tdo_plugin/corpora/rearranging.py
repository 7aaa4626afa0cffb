"""A user's folder of text as the preparation wants it: renamed or split, in a folder beside it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from tdo_plugin.data.textfolder import PLAIN
from tdo_plugin.data.textnames import renamed_files, text_files
from tdo_plugin.errors import UserError

Say = Callable[[str], None]


def add_rearranging(group: argparse._ActionsContainer) -> None:
    """Declare the options that `rearranged` gets."""
    group.add_argument(
        "--rename",
        action="store_true",
        help="take files whose codes fairseq cannot take under such as it can, train.en-pt-BR.en "
        "as train.en-pt_BR.en; the files stay as they are",
    )
    for split, what in (("valid", "validation"), ("test", "test")):
        group.add_argument(
            f"--split-{split}",
            type=int,
            default=0,
            metavar="N",
            help=f"of text that is not split, corpus.X and corpus.Y or NAME.X-Y.X and NAME.X-Y.Y, "
            f"draw N sentence pairs of each pair for {what} and train on the others",
        )


def rearranged(
    folder: Path,
    args: argparse.Namespace,
    option: str,
    scratch: Path,
    say: Say,
    pairs: bool = False,
) -> Path:
    """The folder itself, or another one with its text as the options ask for it.

    Args:
        folder: the user's; nothing in it is changed.
        args: the options of `add_rearranging`.
        option: what named the folder, for messages.
        scratch: an empty folder.
        say: gets a line for each file that has another name, and each corpus that is split.
        pairs: whether only text of pairs is taken, and not such as is parallel over more languages.

    Raises:
        UserError: the folder cannot be taken so.
    """
    # its readers import numpy, which the help of commands does without
    from tdo_plugin.corpora.splitting import HeldOutSizes, split_folder

    sizes = HeldOutSizes(args.split_valid, args.split_test)
    sizes.check()
    if not (sizes or args.rename):
        return folder
    if not folder.is_dir():
        raise UserError(f"`{option}` must be a folder of text files; {folder} is not one")
    # what is made of the text is called as its folder is
    out = scratch / folder.resolve().name
    out.mkdir(parents=True)
    if sizes:
        split_folder(folder, out, sizes, option, say, pairs)
    else:
        _rename(folder, out, option, say)
    return out


def _rename(folder: Path, out: Path, option: str, say: Say) -> None:
    files = renamed_files(text_files(folder, option), option)
    for name, path in files.items():
        (out / name).symlink_to(path.resolve())
        if name != path.name:
            say(f"{path.name} is taken as {name}")
    if (folder / PLAIN).is_dir():
        (out / PLAIN).mkdir()
        _rename(folder / PLAIN, out / PLAIN, option, say)
