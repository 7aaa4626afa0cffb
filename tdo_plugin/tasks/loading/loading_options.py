"""Options of data loading and sampling."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from tdo_plugin.errors import UserError


def add_loading_options(parser: ArgumentParser) -> None:
    """Declare ``--data-loading`` and ``--virtual-epoch-draw``."""
    parser.add_argument(
        "--data-loading",
        choices=["lean", "fairseq"],
        default="lean",
        help="lean: the same batches as fairseq's, sooner: files are memory-mapped and opened once "
        "for both directions, equal dictionaries are loaded once, and a virtual epoch reads only "
        "its own sentences; fairseq: read every file in full first, for disks with slow seeks "
        "(default: lean)",
    )
    parser.add_argument(
        "--virtual-epoch-draw",
        choices=["fairseq", "keyed"],
        default="fairseq",
        help="sampling for --virtual-epoch-size; fairseq: permute all sentences at the start of a "
        "pass, and again when a training resumes; keyed: compute each sentence's position when "
        "needed, in time and memory of the virtual epoch only, and continue the same pass when a "
        "training resumes (default: fairseq)",
    )


def check_loading_options(args: Namespace) -> None:
    """Refuse keyed sampling if it would have no effect.

    Raises:
        UserError: keyed sampling without virtual epochs, or with fairseq's loading.
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
