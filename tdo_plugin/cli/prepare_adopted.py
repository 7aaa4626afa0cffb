"""`tdo prepare --adopt`: a data folder from one that stock `fairseq-preprocess` made."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tdo_compat.errors import print_line
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import CASINGS, TOKENIZATIONS, TextForm

REQUIRED = ("out", "spm")
ALONE = ("spm", "langs", "references", "casing", "tokenization")  # only with --adopt


def add_adoption(group: argparse._ArgumentGroup) -> None:
    """Declare the options."""
    add = group.add_argument
    add(
        "--adopt",
        type=Path,
        metavar="BIN",
        help="folder of fairseq-preprocess with the sets of all pairs and one dictionary; it is "
        "not changed, DIR gets hard links to its files (or copies)",
    )
    add("--spm", type=Path, metavar="MODEL", help="the SentencePiece model of its text")
    add(
        "--langs",
        metavar="A,B",
        help="order of the languages, as in the --langs of your models (default: sorted, as "
        "fairseq without --langs)",
    )
    add(
        "--references",
        type=Path,
        metavar="DIR",
        help="folder with the original text of its test sets, test.X-Y.X and test.X-Y.Y or test.X "
        "(default: the binarised test sets, put together by MODEL)",
    )
    add("--casing", choices=CASINGS, help="casing of its text (default cased)")
    add("--tokenization", choices=TOKENIZATIONS, help="tokenization of its text (default none)")


def check_adoption(
    args: argparse.Namespace, declare: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Raise UserError for an option that does not go with `--adopt`, or not without it.

    Args:
        args: the options.
        declare: adds the arguments of the command to a parser.
    """
    parser = argparse.ArgumentParser()
    declare(parser)
    given = {action.dest for action in parser._actions if getattr(args, action.dest, None)}
    adopts = "adopt" in given
    wrong = given - {"adopt", "out", *ALONE} if adopts else given & {*ALONE}
    for action in parser._actions:
        if action.dest in wrong:
            name, where = (action.option_strings or ["NAME"])[0], "with" if adopts else "without"
            raise UserError(f"`{name}` must be left out {where} --adopt; it is given")
        if adopts and action.dest in REQUIRED and action.dest not in given:
            raise UserError(f"`{action.option_strings[0]}` must be given with --adopt; it is not")


def adopted(args: argparse.Namespace) -> int:
    """Make the data folder, and print what it has and where its references come from."""
    from tdo_plugin.data.adoption import adopt, read_stock_folder

    if args.out.exists() and not (args.out.is_dir() and not any(args.out.iterdir())):
        raise UserError(f"`--out` must be new or an empty folder; {args.out} is neither")
    form = TextForm(args.casing or CASINGS[0], args.tokenization or TOKENIZATIONS[0])
    if args.references and form != TextForm():
        form = replace(form, plain_references=True)
    languages = args.langs.split(",") if args.langs else ()
    made = adopt(
        read_stock_folder(args.adopt),
        args.spm,
        args.out.resolve(),
        languages,
        args.references,
        form.stored(),
    )
    data = made.data
    print_line(
        f"{data.root}: {len(data.languages)} languages ({', '.join(data.languages)}), "
        f"{len(data.directions)} training and {len(data.test_directions)} test directions"
    )
    if args.references:
        print_line(f"references: {args.references}")
    elif made.tested:
        print_line(
            f"references: the binarised test sets, put together by {args.spm}; {made.unknown} of "
            f"{made.tested} sentences have an unknown piece, <<unk>> (--references gives the "
            "original text)"
        )
    if made.missing or made.extra:
        print_line(
            f"the dictionary is not exactly the pieces of {args.spm}: it lacks {made.missing:,}, "
            f"and {made.extra:,} of its entries are characters that the model does not know; tdo "
            "export cannot write the models' tokenizer"
        )
    return 0
