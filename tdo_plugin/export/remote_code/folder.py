"""Writes a model that no class of transformers computes, with the code that does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.export.folder_files import write_json, write_model_files
from tdo_plugin.export.generation_settings import SEARCH
from tdo_plugin.export.opened_model import OpenedModel
from tdo_plugin.export.remote_code.code_files import code_files
from tdo_plugin.models.mask_files import IN_CHECKPOINT
from tdo_plugin.pretrained.exported_folder import MODEL_TYPE
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json

TOKENIZER = "tokenizer_config.json"
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
    for name, text in code_files().items():
        write_text(folder / name, [text.rstrip("\n")])
    write_model_files(folder, configuration(opened, dtype), parameters(opened, dtype))
    write_json(
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
    return usage(opened)


def configuration(opened: OpenedModel, dtype: torch.dtype) -> dict[str, Any]:
    """The content of `config.json`: the specification, languages, and classes."""
    core = opened.core
    specification = asdict(opened.spec)
    if core.neurons is not None:
        specification["neuron_masks"] = IN_CHECKPOINT  # instead of a path on this machine
    return {
        "architectures": ["TdoForConditionalGeneration"],
        "auto_map": CLASSES,
        "model_type": MODEL_TYPE,
        "dtype": str(dtype).removeprefix("torch."),
        **specification,
        **opened.text.stored(),
        "tag_ids": [opened.row(opened.tags[language]) for language in opened.languages],
        "source_tag": opened.source_tag,
        "target_tag": opened.target_tag,
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
sets {SEARCH}

`trust_remote_code=True` runs the Python files of this folder. They are tdo_plugin's own modules,
unchanged but for their imports, and need only torch and transformers."""
