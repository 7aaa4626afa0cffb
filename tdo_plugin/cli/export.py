"""`tdo export`: write a trained model for Hugging Face transformers or CTranslate2."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import replaced_folder
from tdo_plugin.runtime.log_lines import without_log_lines

if TYPE_CHECKING:
    from tdo_plugin.export.model_card import Written
    from tdo_plugin.export.opened_model import OpenedModel

HELP = "write a trained model as a folder for Hugging Face transformers or CTranslate2"
EXAMPLE = "tdo export my-model/checkpoint_best.pt --to hf my-model-hf"

DTYPES = ("float32", "float16", "bfloat16")
QUANTIZATIONS = (
    *("float32", "float16", "bfloat16", "int16"),
    *("int8", "int8_float32", "int8_float16", "int8_bfloat16"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add(
        "checkpoint",
        type=Path,
        metavar="CHECKPOINT",
        help="a checkpoint, or a folder with checkpoints (see --average)",
    )
    add("out", type=Path, metavar="DIR", help="output folder; it must be new or empty")
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
    add("--dtype", choices=DTYPES, help="--to hf: number format of the weights (default float32)")
    add(
        "--quantization",
        choices=QUANTIZATIONS,
        help="--to ctranslate2: number format of the weights (default float32)",
    )
    add(
        "--scores",
        type=Path,
        metavar="SCORES",
        help="scores.json of `tdo score` for this checkpoint, for the model card",
    )


def check(args: argparse.Namespace) -> None:
    """Raise UserError for an option of the other format."""
    for option, value, format_ in (
        ("--dtype", args.dtype, "hf"),
        ("--quantization", args.quantization, "ctranslate2"),
    ):
        if value and args.to != format_:
            raise UserError(
                f"`{option}` must be left out with `--to {args.to}`: it belongs to {format_}; "
                f"it is {value}"
            )


def run(args: argparse.Namespace) -> int:
    """Open the model, write the folder, and print its path and size."""
    check(args)
    if args.out.exists() and not (args.out.is_dir() and not any(args.out.iterdir())):
        raise UserError(f"`DIR` must be new or an empty folder; {args.out} is neither")
    with without_log_lines(logging.WARNING):
        from tdo_plugin.export.card_numbers import read_scores
        from tdo_plugin.export.model_card import write_card
        from tdo_plugin.export.opened_model import open_model
        from tdo_plugin.metrics.textform import TextForm, copy_truecasers, form_shown

        opened = open_model(args.checkpoint, args.data, args.average)
        scores = read_scores(args.scores, opened) if args.scores else None
        out = args.out.resolve()
        try:
            with replaced_folder(out) as unfinished:
                written = WRITERS[args.to](opened, unfinished, args)
                models = copy_truecasers(opened.data.root, unfinished, opened.languages)
                write_card(opened, unfinished, written, scores)
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
    return 0


def _refusal(error: OSError, out: Path) -> str:
    """A message that names the option of the file that could not be read or written."""
    file = Path(error.filename or out)
    written = file in (out, *out.parents) or str(file).startswith(f"{out.parent}/.{out.name}.")
    option = "`DIR` must be writable" if written else "`--data` must be readable"
    return f"{option}; {file}: {error.strerror}"


def _hugging_face(opened: OpenedModel, folder: Path, args: argparse.Namespace) -> Written:
    """Write a folder for transformers: M2M100 if it computes the same, else modules of its own."""
    import torch

    from tdo_plugin.export.folder_files import write_json
    from tdo_plugin.export.generation_settings import generation_settings
    from tdo_plugin.export.model_card import Written
    from tdo_plugin.export.plain_m2m100 import misfits, write_model
    from tdo_plugin.export.tokenizer_files import write_tokenizer
    from tdo_plugin.export.usage import transformers_usage

    dtype = getattr(torch, args.dtype or "float32")
    write_json(folder / "generation_config.json", generation_settings(opened))
    write_tokenizer(opened, folder)
    if misfits(opened.spec):
        from tdo_plugin.export.remote_code import folder as remote_code

        # writes configuration, weights and modules; returns a program for the card
        usage = remote_code.write(opened, folder, dtype)
        return Written("transformers, with trust_remote_code=True", "transformers", usage, True)
    write_model(opened, folder, dtype)
    return Written("transformers, M2M100", "transformers", transformers_usage(opened))


def _ctranslate2(opened: OpenedModel, folder: Path, args: argparse.Namespace) -> Written:
    from tdo_plugin.export.ctranslate2_folder import check_encoder_decoder, write_ctranslate2
    from tdo_plugin.export.model_card import Written
    from tdo_plugin.export.usage import ctranslate2_usage

    check_encoder_decoder(opened)
    write_ctranslate2(opened, folder, args.quantization)
    what = f"CTranslate2, {args.quantization or 'float32'}"
    return Written(what, "ctranslate2", ctranslate2_usage(opened))


WRITERS: dict[str, Callable[[OpenedModel, Path, argparse.Namespace], Written]] = {
    "hf": _hugging_face,
    "ctranslate2": _ctranslate2,
}
