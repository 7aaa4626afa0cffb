"""Loads neuron masks from their file into a model, and checks them against checkpoints."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.modules.methods.neuron_masks import NeuronMasks
from tdo_plugin.modules.translation_model import TranslationModel
from tdo_plugin.neuron_files import Masks, digest_of

OPTION = "--tdo-neuron-masks"
PREFIX = "core.neurons."
# in place of a path: the checkpoint's masks; a file of this name is never opened
IN_CHECKPOINT = "(in the checkpoint)"


def add_neuron_masks(core: TranslationModel, task: Any) -> None:
    """Add gates to a model if its specification requires them, with the masks of the file.

    If the file is missing or is `IN_CHECKPOINT`, a model that is not trained takes the masks of its
    checkpoint.

    Raises:
        UserError: the file is missing in training, or does not fit the model or the task.
    """
    spec = core.spec
    if not spec.neuron_masks:
        return
    core.neurons = NeuronMasks(core.stack, len(task.langs), spec.zero_shot_neurons)
    path = Path(spec.neuron_masks)
    if not task.training and (spec.neuron_masks == IN_CHECKPOINT or not path.is_file()):
        return
    masks = Masks.read(path, OPTION)
    _check_modules(masks, core.neurons.widths, path)
    if task.training:
        _check_pairs(masks, task.lang_pairs, path)
    core.neurons.awaited = masks.checkpoint
    core.neurons.take(
        torch.cat(list(masks.modules.values()), 1),
        torch.cat(list(masks.general.values())),
        _indices(masks, list(task.langs), path),
        torch.tensor(list(bytes.fromhex(masks.digest)), dtype=torch.uint8),
    )
    if task.training and not getattr(task, "trains_unlisted_pairs", False):
        core.neurons.train_only([masks.pairs.index(pair) for pair in task.lang_pairs])


def check_begun(model: Any) -> None:
    """Before the first update: check that the parameters the masks belong to were loaded.

    Raises:
        UserError: no checkpoint was loaded.
    """
    neurons = getattr(getattr(model, "core", None), "neurons", None)
    if neurons is not None and neurons.awaited:
        raise UserError(
            f"`--finetune-from-model` must name the checkpoint in which neurons were allocated "
            f"when training with `{OPTION}` starts; no checkpoint was loaded"
        )


def with_masks(
    state: Mapping[str, Any], core: TranslationModel, args: Any, training: bool
) -> Mapping[str, Any]:
    """A checkpoint's parameters as the model expects them, including the masks in use.

    Args:
        state: of the checkpoint.
        core: the model; without a file of masks it takes the checkpoint's.
        args: of the command, to know whether the optimizer's state is loaded.
        training: whether the model is to be trained.

    Raises:
        UserError: the checkpoint has other masks, has masks although the model has none, or is not
            the checkpoint in which neurons were allocated.
    """
    neurons, stored = core.neurons, state.get(PREFIX + "digest")
    if neurons is None:
        if stored is not None:
            raise UserError(
                f"`{OPTION}` must name the masks that the checkpoint was trained with; it is empty"
            )
        return state
    if stored is None:
        _check_beginning(state, core, args, training)
        neurons.awaited = ""
        return {**state, **neurons.state_dict(prefix=PREFIX)}
    if not len(neurons.masks):
        neurons.take(**{name: state[PREFIX + name] for name in neurons.state_dict()})
    elif not torch.equal(neurons.digest, stored.to(neurons.digest)):
        raise UserError(
            f"`{OPTION}` must name the masks that the checkpoint was trained with; "
            f"{core.spec.neuron_masks} has others (without a file, the checkpoint's are used)"
        )
    neurons.awaited = ""
    return state


def _check_beginning(
    state: Mapping[str, Any], core: TranslationModel, args: Any, training: bool
) -> None:
    """Raise UserError unless training with masks may start from this checkpoint."""
    assert core.neurons is not None
    if not training:
        raise UserError(
            f"`{OPTION}` must not be set for a checkpoint that was trained without masks; it is "
            f"{core.spec.neuron_masks}"
        )
    args = args or Namespace()
    resumes = getattr(args, "reset_optimizer", None) is False
    if resumes and not _finetunes(args):
        raise UserError(
            f"`--finetune-from-model` must name the checkpoint in which neurons were allocated, "
            f"with a new `--save-dir`, or `--reset-optimizer` must be set, when training with "
            f"`{OPTION}` starts; neither is"
        )
    if core.neurons.awaited != digest_of(state):
        raise UserError(
            f"`{OPTION}` must belong to the checkpoint that training starts from; "
            f"{core.spec.neuron_masks} belongs to another"
        )


def _finetunes(args: Any) -> bool:
    """Whether fairseq starts from another checkpoint, which it does only in a new folder."""
    last = Path(getattr(args, "save_dir", None) or "checkpoints") / "checkpoint_last.pt"
    return bool(getattr(args, "finetune_from_model", None)) and not last.exists()


def _check_modules(masks: Masks, widths: Mapping[str, int], path: Path) -> None:
    sizes = {name: len(mask) for name, mask in masks.general.items()}
    for name in dict.fromkeys([*widths, *sizes]):
        if sizes.get(name) != widths.get(name):
            in_masks, in_model = sizes.get(name, "no"), widths.get(name, "none")
            raise UserError(
                f"`{OPTION}` must fit the architecture; {path} has {in_masks} neurons in {name}, "
                f"the model {in_model}"
            )
    if list(sizes) != list(widths):
        raise UserError(f"`{OPTION}` must list modules in the model's order; {path} does not")


def _check_pairs(masks: Masks, trained: list[str], path: Path) -> None:
    if missing := [pair for pair in trained if pair not in masks.pairs]:
        raise UserError(
            f"`{OPTION}` must have a mask for every trained pair; {path} has none for "
            f"{', '.join(missing[:8])}" + (", ..." if len(missing) > 8 else "")
        )


def _indices(masks: Masks, languages: list[str], path: Path) -> Tensor:
    """Source and target language of each pair as indices, (P, 2)."""
    for pair in masks.pairs:
        if unknown := [language for language in pair.split("-") if language not in languages]:
            raise UserError(
                f"`{OPTION}` must be for the languages of `--langs`; {path} has {pair}, "
                f"but {unknown[0]} is not one of them"
            )
    places = [[languages.index(language) for language in pair.split("-")] for pair in masks.pairs]
    return torch.tensor(places)
