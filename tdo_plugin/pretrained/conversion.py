"""Converts a pre-trained encoder-decoder to a checkpoint of this package."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tdo_compat.checkpoint import save_whole
from tdo_plugin.data.segmentation import load_model, vocabulary_lines
from tdo_plugin.metrics.textform import copy_truecasers
from tdo_plugin.pretrained.design import Design
from tdo_plugin.pretrained.exported_text import ExportedText
from tdo_plugin.pretrained.original import SPECIALS, Original
from tdo_plugin.pretrained.parameter_origins import Layers, origins
from tdo_plugin.runtime.files import replaced, write_text
from tdo_plugin.text_settings import NOTHING_TRAINED, settings_of

if TYPE_CHECKING:
    from tdo_plugin.models.tdo_transformer import TdoTransformer

CHECKPOINT = "model.pt"
RECORD = "conversion.json"
FROM_THE_BEGINNING = {"epoch": 1, "iterations_in_epoch": 0, "shuffle": True, "version": 2}


@dataclass(frozen=True)
class Conversion:
    """The new model, and the fate of the original's parameters.

    Attributes:
        model: in evaluation mode.
        arguments: options of the model and its task.
        stacks: the original's layers in each stack.
        taken: the original's parameter names, by the new model's names.
        dropped: names of the original's parameters that are not used.
        new: names of the new model's parameters that have no original.
    """

    model: TdoTransformer
    arguments: Namespace
    stacks: Mapping[str, Layers]
    taken: Mapping[str, str]
    dropped: Sequence[str]
    new: Sequence[str]


def convert(original: Original, design: Design) -> Conversion:
    """The new model, with the original's parameters wherever it has the same part.

    Raises:
        UserError: the design does not fit the original.
    """
    from fairseq.data import Dictionary

    from tdo_plugin.tasks.tdo_translation import TdoTranslationTask

    stacks = design.layers(original.sizes)
    args = design.arguments(original.sizes, stacks)
    if original.exported and _restores(original.exported, design):
        args.lang_pairs = list(original.exported.directions)
        args.back_translated_tag = original.exported.settings["back_translated_tag"]
    dictionary = Dictionary()
    for symbol in original.symbols[len(SPECIALS) :]:
        dictionary.add_symbol(symbol)
    dictionaries = dict.fromkeys(design.languages, dictionary)
    task = TdoTranslationTask(args, list(design.languages), dictionaries, training=True)
    torch.manual_seed(design.seed)
    model = task.build_model(args)
    core = model.core.state_dict()
    where = origins(core, stacks)
    taken = {name: origin for name, origin in where.items() if origin is not None}
    with torch.no_grad():
        for name, origin in taken.items():
            core[name].copy_(original.parameters[origin])
    used = {*taken.values()}
    return Conversion(
        model=model.eval(),
        arguments=args,
        stacks=stacks,
        taken=taken,
        dropped=[name for name in original.parameters if name not in used],
        new=[name for name, origin in where.items() if origin is None],
    )


def write(
    original: Original, conversion: Conversion, design: Design, folder: Path
) -> dict[str, Any]:
    """Write checkpoint, dictionary, segmentation and record to an existing folder.

    Returns:
        The record.
    """

    write_checkpoint(
        folder,
        original.symbols,
        original.segmentation,
        conversion.model,
        conversion.arguments,
        _task_state(original, conversion.arguments, design),
    )
    if original.exported:
        copy_truecasers(original.path, folder, design.languages)
    facts = record(original, conversion, design)
    write_text(folder / RECORD, [json.dumps(facts, indent=1)])
    return facts


def _restores(exported: ExportedText, design: Design) -> bool:
    """Whether the new model has the languages of the exported one."""
    return tuple(design.languages) == exported.languages


def _task_state(original: Original, arguments: Namespace, design: Design) -> dict[str, Any]:
    """What the task remembers in the checkpoint."""
    from tdo_plugin.tasks.task_state import digest_of

    # training may use any of its languages in any order; only the dictionary is fixed
    state = {f"{side}_dictionary": digest_of(original.symbols) for side in ("source", "target")}
    exported = original.exported
    if exported is None:
        return state
    return {
        **({"languages": list(exported.languages)} if _restores(exported, design) else {}),
        **state,
        "text": settings_of(arguments),
        **({"text_form": exported.text_form} if exported.text_form else {}),
    }


def write_checkpoint(
    folder: Path,
    symbols: Sequence[str],
    segmentation: bytes,
    model: TdoTransformer,
    arguments: Namespace,
    task_state: Mapping[str, Any],
) -> None:
    """Write checkpoint, dictionary and segmentation to an existing folder.

    Args:
        folder: the folder.
        symbols: names of the rows of the embeddings, beginning with the special symbols.
        segmentation: the content of a SentencePiece model's file.
        model: the model.
        arguments: options of the model and its task.
        task_state: what the task remembers in checkpoints.
    """
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    write_text(folder / "dict.txt", (f"{symbol} 1" for symbol in symbols[len(SPECIALS) :]))
    with replaced(folder / "spm.model") as unfinished:
        unfinished.write_bytes(segmentation)
    write_text(folder / "spm.vocab", vocabulary_lines(load_model(folder / "spm.model")))
    cfg = convert_namespace_to_omegaconf(arguments)
    cfg.model = cfg.task = None
    state = {
        "args": None,
        "cfg": {**_plain(cfg), "model": arguments, "task": arguments},
        "model": model.state_dict(),
        "optimizer_history": [NOTHING_TRAINED],
        "task_state": dict(task_state),
        "extra_state": {"val_loss": None, "train_iterator": FROM_THE_BEGINNING},
    }
    save_whole(state, str(folder / CHECKPOINT))


def _plain(cfg: Any) -> dict[str, Any]:
    from omegaconf import OmegaConf

    container = OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


def record(original: Original, conversion: Conversion, design: Design) -> dict[str, Any]:
    """A record of the conversion, with stable keys; includes numbers of parameters."""
    sizes = original.parameters
    core = conversion.model.core.state_dict()
    return {
        "original": {
            "path": str(original.path),
            **asdict(original.sizes),
            "entries": len(original.symbols),
            "languages": len(original.tags),
        },
        "arch": design.arch,
        "stacks": {name: str(layers) for name, layers in conversion.stacks.items()},
        "flags": design.flags(original.sizes, conversion.stacks),
        "languages": list(design.languages),
        "parameters": sum(parameter.numel() for parameter in conversion.model.parameters()),
        "taken": sum(core[name].numel() for name in conversion.taken),
        "dropped": _groups({name: sizes[name].numel() for name in conversion.dropped}),
        "new": _groups({name: core[name].numel() for name in conversion.new}),
        "remarks": list(original.remarks),
        "seed": design.seed,
    }


def _groups(numbers: Mapping[str, int]) -> dict[str, int]:
    """Numbers of parameters by part of the original or the new model."""
    totals: dict[str, int] = {}
    for name, count in numbers.items():
        first, second, *rest = name.split(".")
        group = f"{first}.{second}"
        if second == "layers":
            cross = rest[1].startswith("encoder_attn")
            group = "cross-attention" if cross and first == "decoder" else f"{first} layers"
        totals[group] = totals.get(group, 0) + count
    return totals
