"""The pairs that adapters are of: from the command line into a model, and against checkpoints."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.modules.language_pairs import LanguagePairs
from tdo_plugin.modules.translation_model import TranslationModel

KEY = "core.pairs.pairs"


def trained_pairs(args: Namespace) -> list[str]:
    """The directions of ``--lang-pairs`` in order; a checkpoint's options tell its own.

    While one direction is decoded the task knows that one alone.
    """
    pairs = getattr(args, "lang_pairs", None) or []
    return list(dict.fromkeys(pairs.split(",") if isinstance(pairs, str) else pairs))


def add_pairs(core: TranslationModel, args: Namespace, languages: Sequence[str]) -> None:
    """Tell a model that has parts for each pair which pairs they are.

    Raises:
        UserError: a pair is of a language that the model does not know.
    """
    if not core.spec.num_pairs:
        return
    pairs = trained_pairs(args)
    for pair in pairs:
        if not {*pair.split("-")} <= {*languages}:
            raise UserError(
                f"`--lang-pairs` must be of the languages of `--langs`, {', '.join(languages)}; "
                f"one is {pair}"
            )
    core.pairs = LanguagePairs(languages, pairs)


def with_pairs(state: Mapping[str, Any], core: TranslationModel) -> Mapping[str, Any]:
    """A checkpoint's parameters, with the pairs if it has no adapters yet.

    Its own order of pairs is gone by, whatever that of the command line is.

    Raises:
        UserError: it has adapters of other pairs.
    """
    if core.pairs is None:
        return state
    stored = state.get(KEY)
    if stored is None:
        return {**state, KEY: core.pairs.pairs}
    model_pairs, stored_pairs = core.pairs.names(), core.pairs.names(stored)
    if {*model_pairs} != {*stored_pairs}:
        raise UserError(
            "`--lang-pairs` must be the pairs that the checkpoint has adapters of, "
            f"{', '.join(stored_pairs)}; they are {', '.join(model_pairs)}"
        )
    return state
