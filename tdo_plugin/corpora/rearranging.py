"""Rearranges a user's text folder for preparation: renamed or split, in another folder."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from tdo_plugin.data.textfolder import PLAIN
from tdo_plugin.data.textnames import renamed_files, text_files
from tdo_plugin.errors import UserError

Say = Callable[[str], None]


def add_rearranging(group: argparse._ActionsContainer) -> None:
    """Declare the options for `rearranged`."""
    group.add_argument(
        "--rename",
        action="store_true",
        help="use files with language codes that fairseq cannot parse under a valid name, such as "
        "train.en-pt-BR.en as train.en-pt_BR.en; the files themselves are not renamed",
    )
    for split, what in (("valid", "validation"), ("test", "test")):
        group.add_argument(
            f"--split-{split}",
            type=int,
            default=0,
            metavar="N",
            help=f"split unsplit text, corpus.X and corpus.Y or NAME.X-Y.X and NAME.X-Y.Y: draw N "
            f"sentence pairs of each language pair for {what} and train on the others",
        )


def rearranged(
    folder: Path,
    args: argparse.Namespace,
    option: str,
    scratch: Path,
    say: Say,
    pairs: bool = False,
) -> Path:
    """The folder itself, or another with its text rearranged as the options require.

    Args:
        folder: the user's; not changed.
        args: the options of `add_rearranging`.
        option: that sets the folder, for messages.
        scratch: an empty folder.
        say: gets a line for each renamed file and each corpus that is split.
        pairs: whether only text of pairs is accepted, and not text in more languages.

    Raises:
        UserError: the folder cannot be rearranged so.
    """
    # these modules import numpy, which commands do not need for --help
    from tdo_plugin.corpora.splitting import HeldOutSizes, split_folder

    sizes = HeldOutSizes(args.split_valid, args.split_test)
    sizes.check()
    if not (sizes or args.rename):
        return folder
    if not folder.is_dir():
        raise UserError(f"`{option}` must be a folder of text files; {folder} is not one")
    # results made from the text are named after its folder
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
            say(f"{path.name} is used as {name}")
    if (folder / PLAIN).is_dir():
        (out / PLAIN).mkdir()
        _rename(folder / PLAIN, out / PLAIN, option, say)
