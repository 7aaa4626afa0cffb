"""`tdo export`: write a trained model for Hugging Face transformers or CTranslate2."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.cli.decoding import MODEL
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import replaced_folder
from tdo_plugin.runtime.log_lines import without_log_lines

if TYPE_CHECKING:
    from tdo_plugin.export.model_card import Written
    from tdo_plugin.export.opened_model import OpenedModel

HELP = "write a trained model as a folder for Hugging Face transformers or CTranslate2"
EXAMPLE = "tdo export my-model --to hf --out my-model-hf"

# name of a number format -> that of torch or CTranslate2, which is also accepted
HF = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
CTRANSLATE2 = {
    **HF,
    **{name: name for name in ("int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")},
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("model", metavar="MODEL", help=MODEL)
    add("folder", nargs="?", type=Path, help=argparse.SUPPRESS)  # the earlier form of --out
    add("--out", type=Path, metavar="DIR", help="output folder; it must be new or empty")
    add("--to", choices=tuple(WRITERS), required=True, help="format of the folder")
    add(
        "--data",
        type=Path,
        metavar="DATA",
        help="data folder with dictionary and SentencePiece model (default: that of the training)",
    )
    add(
        "--average",
        metavar="RULE",
        help="which checkpoints of a folder to average: best-N or last-N (default best-1)",
    )
    add(
        "--precision",
        default="fp32",
        metavar="FORMAT",
        help=f"number format of the weights: {', '.join(HF)}; for ctranslate2 also "
        f"{', '.join([*CTRANSLATE2][len(HF) :])} (default fp32)",
    )
    add(
        "--scores",
        type=Path,
        metavar="SCORES",
        help="scores.json of `tdo score` for this checkpoint, for the model card",
    )


def check(args: argparse.Namespace) -> None:
    """Raise UserError for a missing folder, or a number format that the target lacks."""
    if args.out and args.folder:
        raise UserError(f"`--out` must be given once; it is {args.folder} and {args.out}")
    args.out = args.out or args.folder
    if args.out is None:
        raise UserError("`--out` must name the folder to write; it is missing")
    formats = HF if args.to == "hf" else CTRANSLATE2
    if args.precision not in {*formats, *formats.values()}:
        raise UserError(
            f"`--precision` must be one of {', '.join(formats)} with `--to {args.to}`; "
            f"it is {args.precision}"
        )
    args.precision = formats.get(args.precision, args.precision)


def run(args: argparse.Namespace) -> int:
    """Open the model, write the folder, and print its path and size."""
    check(args)
    if args.out.exists() and not (args.out.is_dir() and not any(args.out.iterdir())):
        raise UserError(f"`--out` must be new or an empty folder; {args.out} is neither")
    with without_log_lines(logging.WARNING):
        from tdo_plugin.export.card_numbers import read_scores
        from tdo_plugin.export.model_card import write_card
        from tdo_plugin.export.opened_model import open_model
        from tdo_plugin.metrics.textform import TextForm, copy_truecasers, form_shown

        opened = open_model(args.model, args.data, args.average)
        scores = read_scores(args.scores, opened) if args.scores else None
        out = args.out.resolve()
        try:
            with replaced_folder(out) as unfinished:
                written = WRITERS[args.to](opened, unfinished, args)
                models = copy_truecasers(opened.data.root, unfinished, opened.languages)
                write_card(opened, unfinished, out.name, written, scores)
        except ModuleNotFoundError as error:
            raise UserError(
                f"`--to {args.to}` requires the package {error.name}: "
                "pip install 'tdo_plugin[export]'"
            ) from None
        except OSError as error:
            raise UserError(_refusal(error, out)) from None
    size = sum(path.stat().st_size for path in args.out.rglob("*") if path.is_file())
    print(f"written: {args.out} ({written.what}, {size / 2**20:.1f} MiB)")
    if opened.form != TextForm():
        also = f"; the folder has {', '.join(models)}" if models else ""
        print(f"text must be {form_shown(opened.form.way_in())} before it is tokenized{also}")
    print(f"To translate with it, in Python:\n\n{written.program(str(out))}", end="")
    return 0


def _refusal(error: OSError, out: Path) -> str:
    """A message that names the option of the file that could not be read or written."""
    file = Path(error.filename or out)
    written = file in (out, *out.parents) or str(file).startswith(f"{out.parent}/.{out.name}.")
    option = "`--out` must be writable" if written else "`--data` must be readable"
    return f"{option}; {file}: {error.strerror}"


def _hugging_face(opened: OpenedModel, folder: Path, args: argparse.Namespace) -> Written:
    """Write a folder for transformers: M2M100 if it computes the same, else modules of its own."""
    import torch

    from tdo_plugin.export.folder_files import write_json
    from tdo_plugin.export.generation_settings import generation_settings
    from tdo_plugin.export.model_card import Written
    from tdo_plugin.export.plain_m2m100 import misfits, write_model
    from tdo_plugin.export.remote_code.folder import add_code, write_own_model
    from tdo_plugin.export.tokenizer_files import write_tokenizer
    from tdo_plugin.export.usage import pipeline_program, transformers_remarks

    dtype = getattr(torch, args.precision)
    write_json(folder / "generation_config.json", generation_settings(opened))
    write_tokenizer(opened, folder)
    own_model = bool(misfits(opened.spec))
    if own_model:
        write_own_model(opened, folder, dtype)
    else:
        write_model(opened, folder, dtype)
        add_code(opened, folder)
    return Written(
        "transformers, own model" if own_model else "transformers, M2M100",
        "transformers",
        partial(pipeline_program, opened),
        transformers_remarks(opened, args.out.resolve().name, own_model),
        "The pipeline gives empty and longer sentences an empty translation; leave them out "
        "if you call the classes. A line break counts as a space.",
    )


def _ctranslate2(opened: OpenedModel, folder: Path, args: argparse.Namespace) -> Written:
    from tdo_plugin.export.ctranslate2_folder import check_encoder_decoder, write_ctranslate2
    from tdo_plugin.export.model_card import Written
    from tdo_plugin.export.usage import ctranslate2_program, ctranslate2_remarks

    check_encoder_decoder(opened)
    write_ctranslate2(opened, folder, args.precision)
    return Written(
        f"CTranslate2, {args.precision}",
        "ctranslate2",
        partial(ctranslate2_program, opened),
        ctranslate2_remarks(),
        "Leave empty sentences out. CTranslate2 cuts sentences at 1,024 tokens.",
    )


WRITERS: dict[str, Callable[[OpenedModel, Path, argparse.Namespace], Written]] = {
    "hf": _hugging_face,
    "ctranslate2": _ctranslate2,
}
