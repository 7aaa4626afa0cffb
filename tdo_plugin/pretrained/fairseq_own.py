"""Reads fairseq checkpoints in the format in which M2M-100 and NLLB were published."""

import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.checkpoints import read as read_checkpoint
from tdo_plugin.data.segmentation import load_model
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.pretrained.original import (
    SIDES,
    SPECIALS,
    Original,
    Sizes,
    fill_up,
    tag,
)

# symbols after NLLB's tags, one row for each kind of training data
DATA_SOURCES = ("<MINED_DATA>", "<MMT_BT_DATA>", "<SMT_BT_DATA>")
EMBEDDINGS = (
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.output_projection.weight",
)
# not parameters: version flags, position buffers, and buffers of fairseq's fast encoder
LEFT_OUT = re.compile(
    r"(en|de)coder\.(version|embed_positions\.(_float_tensor|weights))|"
    r"encoder\.layers\.\d+\.((in|out)_proj|fc1|fc2)_(weight|bias)"
)
# options with the values of M2M-100 and NLLB; older checkpoints lack options that were off
WANTED: dict[str, tuple[Any, ...]] = {
    "encoder_normalize_before": (True,),
    "decoder_normalize_before": (True,),
    "activation_fn": ("relu", None),
    "encoder_learned_pos": (False, None),
    "decoder_learned_pos": (False, None),
    "no_scale_embedding": (False, None),
    "layernorm_embedding": (False, None),
    "moe_freq": (0, None),
}


def read(path: Path, family: str, dictionary: Path, segmentation: Path) -> Original:
    """Open the checkpoint.

    Args:
        path: of the checkpoint.
        family: `m2m100` or `nllb`.
        dictionary: fairseq's, with tags (M2M-100's `model_dict.128k.txt`), or without
            (`data_dict.128k.txt`, NLLB's `dictionary.txt`) if the checkpoint has their order.
        segmentation: the SentencePiece model.

    Raises:
        UserError: a file is missing, or it is another kind of model.
        CheckpointError: the checkpoint is damaged.
    """
    for option, file in (("--dict", dictionary), ("--spm", segmentation)):
        if not file.is_file():
            raise UserError(f"`{option}` must be a file; {file} is not one")
    state = read_checkpoint(path, "CHECKPOINT")
    options = _options(state)
    parameters = _parameters(path, state["model"])
    sizes = _sizes(path, options, parameters)
    symbols = [*SPECIALS, *_entries(dictionary)]
    _check_pieces(segmentation, {*symbols}, dictionary)
    rows = len(parameters["embeddings"])
    tags, remarks = _name_rows(symbols, rows, family, options, dictionary)
    pieces = segmentation.read_bytes()
    return Original(path, sizes, symbols, tags, parameters, pieces, remarks)


def _entries(dictionary: Path) -> list[str]:
    """The symbols of a dictionary in fairseq's format."""
    symbols = []
    for number, line in enumerate(read_lines(dictionary), 1):
        symbol, _, count = line.rpartition(" ")
        if not (symbol and count.isdigit()):
            raise UserError(
                f"`--dict` must be a fairseq dictionary, with an entry and its count in each line; "
                f"line {number} of {dictionary} is different"
            )
        symbols.append(symbol)
    return symbols


def _check_pieces(segmentation: Path, symbols: set[str], dictionary: Path) -> None:
    """Raise UserError if most pieces are not in the dictionary, since text would be unknown."""
    model = load_model(segmentation)
    ids = range(model.get_piece_size())
    pieces = [
        model.id_to_piece(index)
        for index in ids
        if not (model.is_control(index) or model.is_unknown(index))
    ]
    unknown = [piece for piece in pieces if piece not in symbols]
    if 2 * len(unknown) > len(pieces):
        raise UserError(
            f"`--spm` must segment text into entries of `--dict`; {dictionary} lacks "
            f"{len(unknown)} of the {len(pieces)} pieces of {segmentation}"
        )


def _options(state: dict[str, Any]) -> dict[str, Any]:
    """All options of the training, the model and the task."""
    merged: dict[str, Any] = {}
    cfg = state.get("cfg") or {}
    for part in (state.get("args"), cfg.get("task"), cfg.get("model")):
        if part is not None:
            merged.update(vars(part) if isinstance(part, Namespace) else part)
    return merged


def _parameters(path: Path, stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    kept = [stored[name] for name in EMBEDDINGS if name in stored]
    if not kept:
        raise UserError(f"{path} must have embeddings; it has none")
    if any(not torch.equal(matrix, kept[0]) for matrix in kept[1:]):
        raise UserError(f"{path} must have one matrix for source, target and output; it has not")
    parameters = {
        name: value
        for name, value in stored.items()
        if name not in EMBEDDINGS and not LEFT_OUT.fullmatch(name)
    }
    return {"embeddings": kept[0], **parameters}


def _sizes(path: Path, options: dict[str, Any], parameters: Mapping[str, Tensor]) -> Sizes:
    """The architecture: heads from the options, everything else from the parameters."""
    for option, values in WANTED.items():
        if (value := options.get(option)) not in values:
            raise UserError(
                f"{path} must be a dense M2M-100 or NLLB, with {option} {values[0]}; it is {value}"
            )
    heads = [options.get(f"{side}_attention_heads") for side in SIDES]
    if heads[0] is None or heads[0] != heads[1]:
        raise UserError(
            f"{path} must record the number of attention heads, equal in encoder and decoder; it "
            f"has {heads[0]} and {heads[1]}"
        )
    layers, inner = {}, {}
    for side in SIDES:
        numbers = {name.split(".")[2] for name in parameters if name.startswith(f"{side}.layers.")}
        layers[side] = len(numbers)
        first = parameters.get(f"{side}.layers.0.fc1.weight")
        if first is None or numbers != {str(number) for number in range(len(numbers))}:
            raise UserError(f"{path} must be a dense M2M-100 or NLLB; its {side} is different")
        inner[side] = len(first)
    return Sizes(
        encoder_layers=layers["encoder"],
        decoder_layers=layers["decoder"],
        model_dim=parameters["embeddings"].shape[1],
        num_heads=int(heads[0]),
        encoder_ffn_dim=inner["encoder"],
        decoder_ffn_dim=inner["decoder"],
        max_positions=int(options.get("max_source_positions") or 1024),
    )


def _name_rows(
    symbols: list[str], rows: int, family: str, options: dict[str, Any], dictionary: Path
) -> tuple[dict[str, int], list[str]]:
    """Add the task's symbols to the dictionary; returns tags by language, and remarks."""
    languages = options.get("langs") or ()
    if isinstance(languages, str):
        languages = [language for language in languages.split(",") if language]
    entries, remarks = {*symbols}, []
    missing = [tag(language) for language in languages if tag(language) not in entries]
    if missing and len(symbols) + len(missing) <= rows:
        remarks.append(
            f"rows {len(symbols)} to {len(symbols) + len(missing) - 1} are the tags missing in "
            f"{dictionary}, in the order of the checkpoint's languages"
        )
        symbols += missing
    if family == "nllb" and rows - len(symbols) == len(DATA_SOURCES):
        remarks.append(f"the last rows are {', '.join(DATA_SOURCES)}")
        symbols += DATA_SOURCES
    if len(symbols) > rows:
        raise UserError(
            f"`--dict` must have at most {rows - len(SPECIALS)} entries, the checkpoint's rows "
            f"without the {len(SPECIALS)} special symbols; {dictionary} has "
            f"{len(symbols) - len(SPECIALS)}"
        )
    tags = {
        symbol[2:-2]: row
        for row, symbol in enumerate(symbols)
        if len(symbol) > 4 and symbol.startswith("__") and symbol.endswith("__")
    }
    if not tags:
        raise UserError(
            "`--dict` must have language tags such as __en__ if the checkpoint does not record "
            f"its languages; {dictionary} has none"
        )
    if added := fill_up(symbols, rows):
        if len(added) > 16:  # dictionaries are padded to a multiple of 8
            raise UserError(
                f"`--dict` must be the checkpoint's own dictionary; it leaves {len(added)} of "
                f"{rows} rows without a name"
            )
        remarks.append(f"rows {added[0]} to {added[-1]}, which have no name, are padding")
    return tags, remarks
