"""What parts for each target language ask of a task, a batch and a checkpoint."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairseq.data.multilingual.multilingual_utils import get_lang_tok
from torch import Tensor

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError
from tdo_plugin.modules.grouped_linear import PerLanguage
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext
from tdo_plugin.modules.translation_model import TranslationModel


def context_of(
    core: TranslationModel, src_lang_id: Tensor | None, tgt_lang_id: Tensor | None
) -> TokenContext:
    """The context of each sentence, (B,): what the model's parts for languages and pairs read.

    Args:
        core: the model.
        src_lang_id: (B, 1), from 1.
        tgt_lang_id: (B, 1), from 1.

    Raises:
        UserError: the batch does not tell it, or a pair has no adapter.
    """
    spec = core.spec
    if tgt_lang_id is None or (spec.pair_aware and src_lang_id is None):
        raise UserError(
            f"{_part(spec)} needs the languages of every sentence, as batches of "
            "`--task tdo_translation` tell it; this batch has none"
        )
    targets = tgt_lang_id.flatten() - 1
    context = TokenContext.of_targets(targets) if spec.language_aware else NO_CONTEXT
    if not spec.pair_aware:
        return context
    assert src_lang_id is not None
    sources = src_lang_id.flatten() - 1
    if core.neurons is not None:
        context = replace(context, neurons=core.neurons(sources, targets))
    if core.pairs is not None:
        try:
            context = replace(context, pair=core.pairs(sources, targets))
        except LookupError as error:
            raise UserError(
                "with `--tdo-adapter-dim` only pairs that were trained can be translated, "
                f"{', '.join(core.pairs.names())}; {error.args[0]} has no adapter"
            ) from None
    return context


def tag_sides(args: Namespace) -> tuple[str | None, bool]:
    """Whose tag a source begins with, `src` or `tgt`, and whether a target begins with one.

    ``--langtoks`` goes before the options that are named after the sides.
    """
    source, target = (getattr(args, f"{side}_langtok", None) for side in ("encoder", "decoder"))
    langtoks = getattr(args, "langtoks", None) or {}
    if not isinstance(langtoks, Mapping):
        raise UserError(f"`--langtoks` must be a dict of tags; it is {shown(str(langtoks))}")
    source, target = langtoks.get("main", (source, target))
    return source and source[:3], bool(target)


def tag_ids(task: Any) -> list[int]:
    """Source ids of what stands in sentences and is no text: language tags, and the mark of
    synthetic sources.

    Args:
        task: with its options; one without languages has no tags.
    """
    args, dictionary = getattr(task, "args", Namespace()), task.source_dictionary
    symbols = [
        get_lang_tok(language, args.lang_tok_style, spec)
        for language in getattr(task, "langs", None) or ()
        for spec in args.langtoks_specs
    ]
    if (mark := getattr(args, "back_translated_tag", None)) is not None:
        symbols.append(mark)
    return sorted({dictionary.index(symbol) for symbol in symbols} - {dictionary.unk()})


def behind_tags(args: Namespace) -> list[str]:
    """The options whose symbols stand behind the language tags of the dictionary."""
    usual = {"--back-translated-tag": None, "--source-noise": "none"}
    values = {
        option: getattr(args, option[2:].replace("-", "_"), usual[option]) for option in usual
    }
    return [option for option, value in values.items() if value != usual[option]]


def check_task(spec: ModelSpec, args: Namespace, task: Any) -> None:
    """Hold the specification against the task's batches and tags.

    Raises:
        UserError: targets begin with different symbols where sources see the first, batches do not
            tell languages, a sentence does not begin with its target's tag, or tags are to be
            predicted that are masked.
    """
    source_tag, target_tag = tag_sides(args)
    if spec.source_sees_start and getattr(args, "lang_tok_replacing_bos_eos", False):
        raise UserError(
            "`--lang-tok-replacing-bos-eos` must be off with `--tdo-source-sees-start`, whose "
            "first target symbol is the end symbol in every sentence; it is on"
        )
    if spec.language_aware or spec.pair_aware:
        if not getattr(task, "provides_lang_ids", False):
            raise UserError(
                f"`--task` must be tdo_translation or a task built on it for {_part(spec)}, which "
                f"needs true language ids; it is {getattr(args, 'task', type(task).__name__)}"
            )
        if source_tag != "tgt" and not target_tag:
            raise UserError(
                f"`--encoder-langtok` must be tgt, or `--decoder-langtok` on, for {_part(spec)}: "
                f"without a tag the text leaves its target language open; it is {source_tag}"
            )
    training = getattr(task, "training", False)
    if spec.num_pairs and training and getattr(task, "trains_unlisted_pairs", False):
        raise UserError(
            "`--tdo-adapter-dim` must be 0 with --task tdo_robt and with --monolingual, which "
            f"train on pairs without adapters; it is {spec.adapter_dim}"
        )
    if not spec.masked_tags:
        return
    if target_tag:
        raise UserError(
            "`--tdo-masked-tags` must be 0 with `--decoder-langtok`, where tags are predicted; "
            f"it is {spec.masked_tags}"
        )
    tags = len(getattr(task, "langs", ())) if source_tag else 0
    tags += len(behind_tags(args))
    if spec.masked_tags > tags:
        raise UserError(
            f"`--tdo-masked-tags` must be at most {tags}, the language tags of the dictionary and "
            f"what stands behind them; it is {spec.masked_tags}"
        )


def grown(state: Mapping[str, Any], core: TranslationModel, args: Any) -> Mapping[str, Any]:
    """A model's state with what the core's language-aware parts have more.

    A plain norm or projection becomes every language's; transformations and adapters that are not
    there are the core's own, as they have just started.

    Raises:
        UserError: the parts are of another number of languages, or an optimizer's state would have
            to grow with the model.
    """
    new: dict[str, Any] = {}
    for name, module in core.named_modules(prefix="core"):
        if isinstance(module, PerLanguage):
            for kind, parameter in module.named_parameters(prefix=name):
                new.update(_grown(state.get(kind), parameter, kind, not module.replaces_plain))
    resumes = getattr(args, "reset_optimizer", None) is False
    if new and resumes and not getattr(args, "finetune_from_model", None):
        raise UserError(
            "`--finetune-from-model` must name a checkpoint without language-aware parts, or "
            "`--reset-optimizer` be given: its optimizer knows nothing of them; neither is"
        )
    return {**state, **new}


def _grown(stored: Tensor | None, parameter: Tensor, name: str, added: bool) -> dict[str, Tensor]:
    if stored is None:
        # what is no addition is missing where it is another architecture, which is said elsewhere
        return {name: parameter.detach().clone()} if added else {}
    if stored.shape == parameter.shape[1:]:
        return {name: stored.expand_as(parameter).clone()}
    if stored.dim() == parameter.dim() and len(stored) != len(parameter):
        raise UserError(
            "the checkpoint must have the languages of `--langs`; its language-aware parts have "
            f"{len(stored)} rows, these {len(parameter)} (`tdo extend` adds languages)"
        )
    return {}


def _part(spec: ModelSpec) -> str:
    """The option of a part that asks for languages."""
    first, *_ = spec.needing("languages", "pairs", "both languages").values()
    return f"`{first.flag}`"
