"""Reads folders in Hugging Face's format: M2M-100, NLLB, `tdo export`'s, and models alike."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tdo_compat.checkpoint import safe_load
from tdo_compat.settings import shown
from tdo_plugin.data.segmentation import load_model
from tdo_plugin.errors import UserError
from tdo_plugin.pretrained.exported_text import read_text
from tdo_plugin.pretrained.original import FILLER, Original, Sizes, fill_up, tag
from tdo_plugin.pretrained.tokenizer_rows import json_object, symbols_of
from tdo_plugin.text_settings import SIDES, Settings, settings_of
from tdo_plugin.typed import read_json

SEGMENTATION = "sentencepiece.bpe.model"
CONFIG, WEIGHTS = "config.json", "model.safetensors"
WEIGHT_FILES = (WEIGHTS, "pytorch_model.bin")
# names of the shared embedding matrix; a file has some or all of them
EMBEDDINGS = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
# keys of a configuration: the fields of `Sizes` in order, then the number of rows
NUMBERS = (
    *("encoder_layers", "decoder_layers", "d_model", "encoder_attention_heads"),
    *("encoder_ffn_dim", "decoder_ffn_dim", "max_position_embeddings", "vocab_size"),
)
# errors that the library raises for invalid files
UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError)
TagFlags = tuple[tuple[str, str], ...]
# key of a configuration that `tdo export` wrote: the tag of each language
EXPORTED = "tdo_tags"
TAGS = {"m2m100": re.compile(r"__(\w+?)__"), "nllb": re.compile(r"([a-z]{3}_[A-Z][a-z]{3})")}


def read(folder: Path, family: str) -> Original:
    """Open the folder; nothing is downloaded and no code in it is run.

    Args:
        folder: with `config.json`, weights, tokenizer and SentencePiece model.
        family: `m2m100` or `nllb`.

    Raises:
        UserError: a file is missing, or it is another kind of model.
    """
    sizes, rows = _sizes(folder)
    segmentation = _segmentation(folder)
    parameters = _parameters(folder)
    config = json_object(folder / CONFIG)
    if EXPORTED not in config:
        symbols, tags, remarks = _symbols(folder, family, rows)
        return Original(folder, sizes, symbols, tags, parameters, segmentation, remarks)
    text = read_text(config, folder / CONFIG)
    symbols, tags = _exported_symbols(folder, family, config[EXPORTED], text.languages)
    flags = _text_flags(text.settings, folder)
    return Original(folder, sizes, symbols, tags, parameters, segmentation, (), flags, text)


def _sizes(folder: Path) -> tuple[Sizes, int]:
    """The architecture, and the number of rows of the embeddings."""
    from transformers import AutoConfig

    _needs(folder, CONFIG, SEGMENTATION)
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except UNREADABLE as error:
        raise UserError(f"{folder / CONFIG} must be readable: {_line(error)}") from None
    required: dict[str, Any] = {
        "model_type": "m2m_100",
        "activation_function": "relu",
        "scale_embedding": True,
        "decoder_attention_heads": getattr(config, "encoder_attention_heads", None),
        "tie_word_embeddings": True,
    }
    for key, value in required.items():
        if (actual := getattr(config, key, None)) != value:
            raise UserError(
                f"{folder} must be a dense M2M-100 or NLLB, with {key} {value}; it is {actual}"
            )
    numbers = {name: getattr(config, name) for name in NUMBERS}
    for key, value in numbers.items():
        if type(value) is not int or value < 1:
            raise UserError(
                f"{folder / CONFIG} must have a whole number above 0 as {key}; it is {value}"
            )
    *sizes, rows = numbers.values()
    return Sizes(*sizes), rows


def _text_flags(settings: Settings, folder: Path) -> TagFlags:
    """Options of `fairseq-train` with the text settings of an exported model.

    Tags get fairseq's usual style, which is also that of their names here.
    """
    source, target = (settings[side] for side in SIDES)
    if target not in ("tgt", None):
        raise UserError(
            f"`{SIDES[1]}` in {folder / CONFIG} must be tgt or null for `tdo convert`; it is "
            f"{target}"
        )
    usual = settings_of(Namespace())
    flags = {
        **({"--encoder-langtok": source} if source else {}),
        **{
            f"--{name.replace('_', '-')}": str(settings[name])
            for name in ("left_pad_source", "left_pad_target", "source_noise")
            if settings[name] != usual[name]
        },
        **({"--decoder-langtok": ""} if target else {}),
    }
    return tuple(flags.items())


def _segmentation(folder: Path) -> bytes:
    path = folder / SEGMENTATION
    load_model(path)
    return path.read_bytes()


def _parameters(folder: Path) -> dict[str, Tensor]:
    stored: dict[str, Tensor] = {}
    for path in weights(folder):
        stored.update(tensors_of(path))
    kept = [stored.pop(name) for name in EMBEDDINGS if name in stored]
    if not kept:
        raise UserError(f"{folder} must have embeddings; its weights have none")
    if any(not torch.equal(matrix, kept[0]) for matrix in kept[1:]):
        raise UserError(
            f"{folder} must have one matrix for source, target and output; it has several"
        )
    parameters = {name.removeprefix("model."): value for name, value in stored.items()}
    # older files also contain sinusoidal positions
    positions = re.compile(r"(en|de)coder\.embed_positions\..+|final_logits_bias")
    parameters = {
        name: value for name, value in parameters.items() if not positions.fullmatch(name)
    }
    return {"embeddings": kept[0], **parameters}


def weights(folder: Path) -> list[Path]:
    """The weight files: one, or the parts that an index lists.

    Raises:
        UserError: there are none, or the index is unreadable.
    """
    for name in WEIGHT_FILES:
        index = folder / f"{name}.index.json"
        if index.is_file():
            try:
                listed = read_json(index)["weight_map"].values()
                parts = sorted(map(str, {*listed}))
            except UNREADABLE as error:
                raise UserError(f"{index} must be readable: {_line(error)}") from None
            _needs(folder, *parts)
            return [folder / part for part in parts]
        if (folder / name).is_file():
            return [folder / name]
    raise UserError(f"{folder} must have {' or '.join(WEIGHT_FILES)}; it has neither")


def tensors_of(path: Path) -> dict[str, Tensor]:
    """The tensors of a weight file by name; no code in it is run.

    Raises:
        UserError: the file is damaged, or has anything else.
    """
    if path.suffix == ".bin":
        tensors: Any = safe_load(str(path), map_location="cpu")
        if not isinstance(tensors, dict) or not all(map(torch.is_tensor, tensors.values())):
            raise UserError(f"{path} must have only parameters by name; it has not")
        return tensors
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path} must be complete; {_line(error)}") from None


def _symbols(folder: Path, family: str, rows: int) -> tuple[list[str], dict[str, int], list[str]]:
    """Names of rows, with tags in fairseq's form; tags by language; remarks."""
    tokenizer = _tokenizer(folder, family)
    # the tokenizer's length does not include M2M-100's tags
    named = max(len(tokenizer), 1 + max(getattr(tokenizer, "lang_token_to_id", {"": 0}).values()))
    symbols: list[str] = list(tokenizer.convert_ids_to_tokens(range(min(named, rows))))
    tags, remarks = {}, []
    if family == "nllb" and "<mask>" in symbols and not _states_rows(folder):
        # the library would give <mask> the row after the pieces, and shift each tag by one
        symbols.remove("<mask>")
        symbols.append("<mask>")
        remarks.append("the folder does not record the rows of tags; NLLB's order is used")
    for row, symbol in enumerate(symbols):
        if match := TAGS[family].fullmatch(symbol):
            symbols[row] = tag(match[1])
            tags[match[1]] = row
    if not tags:
        raise UserError(
            f"`--from` must be the family of {folder}; its tokenizer has no tags of {family}"
        )
    if "<mask>" in symbols:
        row = symbols.index("<mask>")
        symbols[row] = FILLER.format(0)
        remarks.append(
            f"row {row}, <mask> in this format and <MINED_DATA> in fairseq's, is now {symbols[row]}"
        )
    if added := fill_up(symbols, rows):
        remarks.append(
            f"rows {added[0]} to {added[-1]}, which the tokenizer does not name, are padding"
        )
    return symbols, tags, remarks


def _exported_symbols(
    folder: Path, family: str, stored: Any, languages: Sequence[str]
) -> tuple[list[str], dict[str, int]]:
    """As :func:`_symbols`, of a folder that `tdo export` wrote, which records its tags."""
    if family != "m2m100":
        raise UserError(
            f"`--from` must be m2m100 for {folder}, a folder of `tdo export`; it is {family}"
        )
    symbols = symbols_of(folder)
    try:
        tags = {language: symbols.index(stored[language]) for language in languages}
        if len({*tags.values()}) < len(tags):
            raise ValueError("two languages have one tag")
    except (ValueError, TypeError, KeyError):
        raise UserError(
            f"`{EXPORTED}` in {folder / CONFIG} must have a symbol of the tokenizer for each "
            f"language; it is {shown(str(stored))}"
        ) from None
    return symbols, tags


def _states_rows(folder: Path) -> bool:
    """Whether the tokenizer's files record the rows of entries after its pieces."""
    if any((folder / name).is_file() for name in ("tokenizer.json", "added_tokens.json")):
        return True
    path = folder / "tokenizer_config.json"
    return path.is_file() and "added_tokens_decoder" in read_json(path)


def _tokenizer(folder: Path, family: str) -> Any:
    from transformers import M2M100Tokenizer, NllbTokenizer

    kind: Any = {"m2m100": M2M100Tokenizer, "nllb": NllbTokenizer}[family]
    if family == "m2m100":
        _needs(folder, "vocab.json")
    try:
        return kind.from_pretrained(folder, local_files_only=True)
    except UNREADABLE as error:
        raise UserError(f"{folder} must have a tokenizer of {family}: {_line(error)}") from None


def _needs(folder: Path, *names: str) -> None:
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{folder} must have {name}; it does not")


def _line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
