"""Options of how data are loaded and drawn."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tdo_plugin.errors import UserError


def add_loading_options(parser: ArgumentParser) -> None:
    """Declare ``--data-loading`` and ``--virtual-epoch-draw``."""
    parser.add_argument(
        "--data-loading",
        choices=["lean", "fairseq"],
        default="lean",
        help="lean makes the same batches as fairseq, sooner: a file is opened once for both "
        "directions and not read as a whole, equal dictionaries are loaded once, and a virtual "
        "epoch looks at its own sentences only; fairseq reads every file before it begins, which "
        "suits disks that seek slowly (default: lean)",
    )
    parser.add_argument(
        "--virtual-epoch-draw",
        choices=["fairseq", "keyed"],
        default="fairseq",
        help="how --virtual-epoch-size draws: fairseq permutes all sentences at the begin of a "
        "pass, and again where a training resumes; keyed computes the place of each sentence as "
        "it comes, in time and memory of the virtual epoch alone, and a resumed training goes on "
        "where it was (default: fairseq)",
    )


def check_loading_options(args: Namespace) -> None:
    """Refuse a draw that nothing would use.

    Raises:
        UserError: keyed draws without virtual epochs, or with fairseq's own loading.
    """
    if getattr(args, "virtual_epoch_draw", "fairseq") == "fairseq":
        return
    if args.virtual_epoch_size is None:
        raise UserError(
            "`--virtual-epoch-draw` must be fairseq without --virtual-epoch-size; it is keyed"
        )
    if args.data_loading == "fairseq":
        raise UserError(
            "`--virtual-epoch-draw` must be fairseq with --data-loading fairseq; it is keyed"
        )
