"""Writes the code of a folder: its tokenizer, pipeline and search, and a model if needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.export.folder_files import write_json, write_model_files
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.export.remote_code.code_files import ROOM, code_files
from tdo_plugin.models.mask_files import IN_CHECKPOINT
from tdo_plugin.pretrained.exported_folder import MODEL_TYPE
from tdo_plugin.pretrained.hugging_face import CONFIG
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json

TOKENIZER_CONFIG = "tokenizer_config.json"
TOKENIZER = "tokenization_tdo.TdoTokenizer"
PIPELINE = "pipeline_tdo.TdoTranslationPipeline"
INPUTS = ("input_ids", "attention_mask")
OWN = {
    "AutoConfig": "configuration_tdo.TdoConfig",
    "AutoModelForSeq2SeqLM": "modeling_tdo.TdoForConditionalGeneration",
}
M2M100 = {"AutoModelForSeq2SeqLM": "m2m100_tdo.TdoM2M100"}


def write_own_model(opened: OpenedModel, folder: Path, dtype: torch.dtype) -> None:
    """Write configuration, weights and code of a model that no class of transformers computes.

    Args:
        opened: the model.
        folder: an existing folder with tokenizer and generation settings.
        dtype: number format of the weights.
    """
    write_model_files(folder, configuration(opened, dtype), parameters(opened, dtype))
    _write_code(opened, folder, OWN, ("src_lang_id", "tgt_lang_id"))


def add_code(opened: OpenedModel, folder: Path) -> None:
    """Write the code for a folder with an M2M100, which also works without it."""
    side = opened.target_tag
    _write_code(opened, folder, M2M100, [f"{side}_lang_id"] if side else [])


def _write_code(
    opened: OpenedModel, folder: Path, classes: Mapping[str, str], inputs: Sequence[str]
) -> None:
    """Write the files, and name their classes in the configurations.

    Args:
        opened: the model.
        folder: with both configurations.
        classes: those of the model, by transformers' classes that look for them.
        inputs: of the model, besides the usual ones.
    """
    tokenizer_module, pipeline, *entries = (
        f"{ROOM}.{name.partition('.')[0]}" for name in (TOKENIZER, PIPELINE, *classes.values())
    )
    for name, text in code_files([tokenizer_module, *entries], pipeline).items():
        write_text(folder / name, [text.rstrip("\n")])
    config = {
        **read_json(folder / CONFIG),
        "auto_map": dict(classes),
        "custom_pipelines": {
            "translation": {"impl": PIPELINE, "pt": ["AutoModelForSeq2SeqLM"], "type": "text"}
        },
    }
    write_json(folder / CONFIG, config)
    tokenizer = {
        **read_json(folder / TOKENIZER_CONFIG),
        "tokenizer_class": TOKENIZER.partition(".")[2],
        "auto_map": {"AutoTokenizer": [None, TOKENIZER]},
        "model_input_names": [*INPUTS, *inputs],
        # as lists: transformers sorts what has names
        "languages": list(opened.languages),
        "language_tags": [opened.tags[language] for language in opened.languages],
        "source_tag": opened.source_tag,
        "target_tag": opened.target_tag,
    }
    write_json(folder / TOKENIZER_CONFIG, tokenizer)


def configuration(opened: OpenedModel, dtype: torch.dtype) -> dict[str, Any]:
    """The content of `config.json`, without classes: the specification and languages."""
    core = opened.core
    specification = asdict(opened.spec)
    if core.neurons is not None:
        specification["neuron_masks"] = IN_CHECKPOINT  # instead of a path on this machine
    return {
        "architectures": ["TdoForConditionalGeneration"],
        "model_type": MODEL_TYPE,
        "dtype": str(dtype).removeprefix("torch."),
        **specification,
        **opened.text.stored(),
        **opened.tag_entries,
        "pairs": core.pairs.names() if core.pairs is not None else [],
        "masked_pairs": len(core.neurons.masks) if core.neurons is not None else 0,
        "vocab_size": len(opened.symbols),
        "bos_token_id": opened.row("<s>"),
        "pad_token_id": opened.row("<pad>"),
        "eos_token_id": opened.row("</s>"),
        "decoder_start_token_id": opened.row("</s>"),
        "is_encoder_decoder": True,
    }


def parameters(opened: OpenedModel, dtype: torch.dtype) -> dict[str, Tensor]:
    """The parameters and buffers by the checkpoint's names; only floating point is converted."""
    return {
        f"core.{name}": (value.to(dtype) if value.is_floating_point() else value).contiguous()
        for name, value in opened.core.state_dict().items()
    }
