"""Writes a model that no class of transformers computes, with the code that does."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.export.remote_code.code_files import code_files
from tdo_plugin.pretrained.exported_folder import MODEL_TYPE
from tdo_plugin.runtime.files import replaced, write_text
from tdo_plugin.typed import read_json

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer_config.json"
TEXT = "text_settings"  # in the configuration: how text was processed in training
CLASSES = {
    "AutoConfig": "configuration_tdo.TdoConfig",
    "AutoModelForSeq2SeqLM": "modeling_tdo.TdoForConditionalGeneration",
}


def write(opened: OpenedModel, folder: Path, dtype: torch.dtype) -> str:
    """Write configuration, weights and code, and name the tokenizer's class.

    Args:
        opened: the model.
        folder: an existing folder with tokenizer and generation settings.
        dtype: number format of the weights.

    Returns:
        A program for the model card.
    """
    from safetensors.torch import save_file

    for name, text in code_files().items():
        write_text(folder / name, [text.rstrip("\n")])
    _write_json(folder / CONFIG, configuration(opened, dtype))
    _write_json(
        folder / TOKENIZER,
        {
            **read_json(folder / TOKENIZER),
            "tokenizer_class": "TdoTokenizer",
            "auto_map": {"AutoTokenizer": [None, "tokenization_tdo.TdoTokenizer"]},
            # as lists: transformers sorts what has names
            "languages": list(opened.languages),
            "language_tags": [opened.tags[language] for language in opened.languages],
            "source_tag": opened.source_tag,
            "target_tag": opened.target_tag,
        },
    )
    with replaced(folder / WEIGHTS) as unfinished:
        save_file(parameters(opened, dtype), unfinished, {"format": "pt"})
        shutil.copymode(folder / CONFIG, unfinished)  # safetensors lets only the owner read
    return usage(opened)


def configuration(opened: OpenedModel, dtype: torch.dtype) -> dict[str, Any]:
    """The content of `config.json`: the specification, languages, and classes."""
    core, rows = opened.core, {symbol: row for row, symbol in enumerate(opened.symbols)}
    specification = asdict(opened.spec)
    if core.neurons is not None:
        specification["neuron_masks"] = WEIGHTS  # instead of a path on this machine
    return {
        "architectures": ["TdoForConditionalGeneration"],
        "auto_map": CLASSES,
        "model_type": MODEL_TYPE,
        "dtype": str(dtype).removeprefix("torch."),
        **specification,
        "languages": list(opened.languages),
        "tag_ids": [rows[opened.tags[language]] for language in opened.languages],
        "source_tag": opened.source_tag,
        "target_tag": opened.target_tag,
        "pairs": core.pairs.names() if core.pairs is not None else [],
        "masked_pairs": len(core.neurons.masks) if core.neurons is not None else 0,
        "vocab_size": len(opened.symbols),
        "bos_token_id": rows["<s>"],
        "pad_token_id": rows["<pad>"],
        "eos_token_id": rows["</s>"],
        "decoder_start_token_id": rows["</s>"],
        "is_encoder_decoder": True,
        TEXT: dict(opened.record["text"]),
        "text_form": opened.form.way_in(),
        "directions": list(opened.directions),
    }


def parameters(opened: OpenedModel, dtype: torch.dtype) -> dict[str, Tensor]:
    """The parameters and buffers by the checkpoint's names; only floating point is converted."""
    return {
        f"core.{name}": (value.to(dtype) if value.is_floating_point() else value).contiguous()
        for name, value in opened.core.state_dict().items()
    }


def usage(opened: OpenedModel) -> str:
    """A program that translates, for the model card."""
    source, target = opened.directions[0].split("-")
    return f"""\
```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

folder = "."  # this folder
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForSeq2SeqLM.from_pretrained(folder, trust_remote_code=True)

batch = tokenizer(
    ["A sentence."], src_lang="{source}", tgt_lang="{target}", padding=True, return_tensors="pt"
)
output = model.generate(**batch)
print(tokenizer.batch_decode(output, skip_special_tokens=True))
```

`src_lang` and `tgt_lang` may be lists with a language for each sentence. `generation_config.json`
sets the search of `tdo translate`: beam 4, length penalty 1.

`trust_remote_code=True` runs the Python files of this folder. They are tdo_plugin's own modules,
unchanged but for their imports, and need only torch and transformers."""


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_text(path, [json.dumps(content, indent=1, ensure_ascii=False)])
