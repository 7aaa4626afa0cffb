"""Folders for CTranslate2, made from an exported M2M100 by CTranslate2's own converter."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch

from tdo_plugin.errors import UserError
from tdo_plugin.export.folder_files import write_json
from tdo_plugin.export.generation_settings import generation_settings
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.export.plain_m2m100 import misfits, shown, write_model
from tdo_plugin.export.tokenizer_files import write_tokenizer
from tdo_plugin.pretrained.hugging_face import CONFIG
from tdo_plugin.pretrained.hugging_face import SEGMENTATION as EXPORTED_SEGMENTATION
from tdo_plugin.runtime.files import replaced
from tdo_plugin.typed import read_json

SEGMENTATION = "sentencepiece.model"  # usual name in CTranslate2's documentation


def check_encoder_decoder(opened: OpenedModel) -> None:
    """Raise UserError for a model that CTranslate2 cannot compute."""
    if needs := misfits(opened.spec):
        raise UserError(
            "`--to ctranslate2` must be used with a pre-norm encoder-decoder without "
            f"language-specific parts; this model is another: {shown(needs)}"
        )


def write_ctranslate2(opened: OpenedModel, folder: Path, quantization: str | None) -> None:
    """Write model, vocabulary, configuration and the SentencePiece model.

    Args:
        opened: a model that :func:`check_encoder_decoder` accepts.
        folder: an existing, empty folder; a copy in float32 is made beside it for a while.
        quantization: number format of the weights, such as `int8`; None: float32.
    """
    from ctranslate2.converters import TransformersConverter

    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        exported = Path(scratch)
        write_model(opened, exported, torch.float32)
        write_json(exported / "generation_config.json", generation_settings(opened))
        write_tokenizer(opened, exported)
        converter = TransformersConverter(str(exported))
        converter.convert(str(folder), quantization=quantization, force=True)
        with replaced(folder / SEGMENTATION) as unfinished:
            unfinished.write_bytes((exported / EXPORTED_SEGMENTATION).read_bytes())
    path = folder / CONFIG
    # so that callers give pieces alone
    write_json(path, {**read_json(path), "add_source_eos": True})
