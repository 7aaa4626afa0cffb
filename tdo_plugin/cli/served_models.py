"""What `tdo serve` and `tdo explain` share: the models, and how they decode."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.decoding import MODEL, check_precision, precision_option
from tdo_plugin.cli.named_models import by_name
from tdo_plugin.launch.handed_on_options import device_options, gpus_here

if TYPE_CHECKING:
    from tdo_plugin.serve.served_model import ServedModel

SENTENCES = 16  # of a batch; a search ends early only between batches


def model_options(parser: argparse.ArgumentParser) -> None:
    """Declare the models and how they decode."""
    parser.add_argument(
        "models",
        nargs="+",
        metavar="[NAME=]MODEL",
        help=f"{MODEL}; NAME: what the page calls it (default: the folder)",
    )
    parser.add_argument(
        "--average",
        metavar="RULE",
        help="which checkpoints of a folder to average: best-N or last-N (default best-1)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DATA",
        help="the models' data folder (default: the one that each was trained on)",
    )
    parser.add_argument("--beam", type=int, default=4, metavar="N", help="beam size (default 4)")
    parser.add_argument(
        "--lenpen",
        type=float,
        default=1.0,
        metavar="X",
        help="length penalty exponent (default 1)",
    )
    precision_option(parser)
    parser.add_argument(
        "--lid",
        default="auto",
        metavar="DETECTOR",
        help="detector of sources' and translations' languages: fasttext, corpus (of DATA), "
        "langdetect, a fastText model file, or none (default auto: the first of the first three "
        "that is there; nothing is downloaded)",
    )
    device_options(parser, several=False)


def opened_models(args: argparse.Namespace) -> list[ServedModel]:
    """Load the models.

    Raises:
        UserError: see `open_models`.
    """
    from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
    from tdo_plugin.serve.opening import open_models

    check_precision(args)
    options = DecodingOptions(
        (),
        beam=args.beam,
        length_penalty=args.lenpen,
        batch_size=SENTENCES,
        precision=args.precision,
    )
    options.check()
    paths = by_name(args.models, "PATH", "MODEL")
    device = "cuda:0" if gpus_here(args) else "cpu"
    return open_models(paths, args.data, options, device, args.lid, args.average)
