"""Reads folders that `tdo export` wrote with code of their own; that code is not run."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from tdo_compat.settings import shown
from tdo_plugin.data.segmentation import load_model
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import copy_truecasers
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.pretrained.conversion import RECORD, write_checkpoint
from tdo_plugin.pretrained.exported_text import ExportedText, check_pairs, entries, read_text
from tdo_plugin.pretrained.hugging_face import CONFIG, SEGMENTATION, tensors_of, weights
from tdo_plugin.pretrained.tokenizer_rows import TOKENIZER, json_object, symbols_of
from tdo_plugin.runtime.files import write_text
from tdo_plugin.text_settings import apply

if TYPE_CHECKING:
    from tdo_plugin.models.tdo_transformer import TdoTransformer

MODEL_TYPE = "tdo"


@dataclass(frozen=True)
class Shape:
    """Entries of the configuration that are no options of the model in their stored form.

    Attributes:
        pairs: language pairs with adapters, in the order of their parameters.
        init: names of initialisers.
        neuron_masks: not empty if the weights have masks of neurons; never a path to be opened.
        max_source_positions: most tokens of a source.
        max_target_positions: most tokens of a target.
    """

    # transformers saves no values that are defaults
    pairs: tuple[str, ...] = ()
    init: tuple[str, ...] = ModelSpec.init
    neuron_masks: str = ""
    max_source_positions: int = ModelSpec.max_source_positions
    max_target_positions: int = ModelSpec.max_target_positions


@dataclass(frozen=True)
class Restored:
    """A model as it was before it was exported.

    Attributes:
        path: of the exported folder.
        model: in evaluation mode.
        arguments: options of the model and its task.
        symbols: names of the rows of the embeddings.
        segmentation: the content of the SentencePiece model's file.
        task_state: what the task remembers in checkpoints.
    """

    path: Path
    model: TdoTransformer
    arguments: Namespace
    symbols: list[str]
    segmentation: bytes
    task_state: dict[str, Any]

    def write(self, folder: Path) -> None:
        """Write checkpoint, dictionary, segmentation and record to an existing folder."""
        write_checkpoint(
            folder, self.symbols, self.segmentation, self.model, self.arguments, self.task_state
        )
        copy_truecasers(self.path, folder, self.arguments.langs)
        facts = {
            "original": {"path": str(self.path), "entries": len(self.symbols)},
            "languages": list(self.arguments.langs),
            "parameters": sum(parameter.numel() for parameter in self.model.parameters()),
        }
        write_text(folder / RECORD, [json.dumps(facts, indent=1)])


def read(folder: Path) -> Restored:
    """The model of a folder.

    Raises:
        UserError: the folder is of another kind, or a file is missing or damaged.
    """
    from fairseq.data import Dictionary

    from tdo_plugin.tasks.tdo_translation import TdoTranslationTask

    path = folder / CONFIG
    config = json_object(path)
    if config.get("model_type") != MODEL_TYPE:
        raise UserError(
            f"`CHECKPOINT` must be a folder of `tdo export` with model_type {MODEL_TYPE} for "
            f"`--from {MODEL_TYPE}`; {folder} has {config.get('model_type')}"
        )
    known, shape = read_text(config, path), entries(config, Shape, path)
    check_pairs(shape.pairs, known.languages, "pairs", path)
    symbols = symbols_of(folder)
    arguments = _arguments(config, known, shape)
    dictionary = Dictionary()
    for symbol in symbols[dictionary.nspecial :]:
        dictionary.add_symbol(symbol)
    dictionaries = dict.fromkeys(known.languages, dictionary)
    # not for training, so that neuron masks are those of the weights; then it needs a direction
    sides = dict(zip(("source_lang", "target_lang"), known.languages[:2], strict=True))
    task = TdoTranslationTask(
        Namespace(**{**vars(arguments), **sides}),
        list(known.languages),
        dictionaries,
        training=False,
    )
    if list(dictionary.symbols) != symbols:
        raise UserError(f"{folder / TOKENIZER} must have the symbols of the model; it has others")
    model = task.build_model(arguments).eval()
    _load(model, _weights(folder), folder)
    form = {"text_form": known.text_form} if known.text_form else {}
    load_model(folder / SEGMENTATION)  # raises if it is damaged
    segmentation = (folder / SEGMENTATION).read_bytes()
    return Restored(folder, model, arguments, symbols, segmentation, {**task.state_dict(), **form})


def _arguments(config: Mapping[str, Any], known: ExportedText, shape: Shape) -> Namespace:
    """The options of model and task, as `fairseq-train` would parse them."""
    from fairseq import options

    from tdo_plugin.models.config import OPTIONS, destination
    from tdo_plugin.models.mask_files import IN_CHECKPOINT

    words = ["data", "--task", "tdo_translation", "--arch", "tdo_transformer", "--optimizer"]
    args: Namespace = options.parse_args_and_arch(
        options.get_training_parser(), input_args=[*words, "adam", "--save-dir", os.devnull]
    )
    usual = {field.name: field.default for field in fields(ModelSpec)}
    for name, option in OPTIONS.items():
        setattr(args, destination(option.flag), config.get(name, usual[name]))
    args.tdo_init = ",".join(shape.init)
    args.tdo_neuron_masks = IN_CHECKPOINT if shape.neuron_masks else ""
    args.tdo_ffn_dim = args.tdo_stage2_ffn_dim
    if args.tdo_topology == "decoder-only" and args.tdo_target_layer == 0:
        args.tdo_stage1_ffn_dim = 0  # there is no first stage
    args.max_source_positions = shape.max_source_positions
    args.max_target_positions = shape.max_target_positions
    args.langs = list(known.languages)
    # the directions with adapters must keep their order
    args.lang_pairs = list(shape.pairs or known.directions)
    apply(known.settings, args)
    return args


def _weights(folder: Path) -> dict[str, Tensor]:
    return {name: value for path in weights(folder) for name, value in tensors_of(path).items()}


def _load(model: TdoTransformer, state: dict[str, Tensor], folder: Path) -> None:
    try:
        model.load_state_dict(state)
    except (RuntimeError, KeyError, ValueError, IndexError, TypeError) as error:
        raise UserError(
            f"{folder} must have the weights of its configuration: {shown(str(error))}"
        ) from None
