"""The pairs that have adapters: from the command line into a model, and checked in checkpoints."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.modules.language_pairs import LanguagePairs
from tdo_plugin.modules.translation_model import TranslationModel

KEY = "core.pairs.pairs"


def trained_pairs(args: Namespace) -> list[str]:
    """The directions of ``--lang-pairs`` in order, or of a checkpoint's options.

    During decoding the task has only the direction that is decoded.
    """
    pairs = getattr(args, "lang_pairs", None) or []
    return list(dict.fromkeys(pairs.split(",") if isinstance(pairs, str) else pairs))


def add_pairs(core: TranslationModel, args: Namespace, languages: Sequence[str]) -> None:
    """Set the pairs of a model that has parts for each pair.

    Raises:
        UserError: a pair has a language that the model does not have.
    """
    if not core.spec.num_pairs:
        return
    pairs = trained_pairs(args)
    for pair in pairs:
        if not {*pair.split("-")} <= {*languages}:
            raise UserError(
                f"`--lang-pairs` must be of the languages of `--langs`, {', '.join(languages)}; "
                f"it has {pair}"
            )
    core.pairs = LanguagePairs(languages, pairs)


def with_pairs(state: Mapping[str, Any], core: TranslationModel) -> Mapping[str, Any]:
    """A checkpoint's parameters, completed by the pairs if it has no adapters yet.

    The checkpoint's order of pairs applies, not the command line's.

    Raises:
        UserError: the checkpoint has adapters for other pairs.
    """
    if core.pairs is None:
        return state
    stored = state.get(KEY)
    if stored is None:
        return {**state, KEY: core.pairs.pairs}
    model_pairs, stored_pairs = core.pairs.names(), core.pairs.names(stored)
    if {*model_pairs} != {*stored_pairs}:
        raise UserError(
            "`--lang-pairs` must be the pairs that the checkpoint has adapters for, "
            f"{', '.join(stored_pairs)}; they are {', '.join(model_pairs)}"
        )
    return state
