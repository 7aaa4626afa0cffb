"""What language-specific parts require from a task, a batch and a checkpoint."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from fairseq.data.multilingual.multilingual_utils import get_lang_tok
from torch import Tensor

from tdo_compat.settings import shown
from tdo_plugin.errors import UserError
from tdo_plugin.modules.grouped_linear import PerLanguage
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.token_context import TokenContext
from tdo_plugin.modules.translation_model import TranslationModel


def context_of(
    core: TranslationModel, src_lang_id: Tensor | None, tgt_lang_id: Tensor | None
) -> TokenContext:
    """The context of each sentence, (B,), for the model's parts for languages and pairs.

    Args:
        core: the model.
        src_lang_id: (B, 1), from 1.
        tgt_lang_id: (B, 1), from 1.

    Raises:
        UserError: the batch has no language ids, or a pair has no adapter.
    """
    spec = core.spec
    if tgt_lang_id is None or (spec.pair_aware and src_lang_id is None):
        raise UserError(
            f"{_part(spec)} needs the languages of every sentence, which batches of "
            "`--task tdo_translation` have; this batch has none"
        )
    sources = None if src_lang_id is None else src_lang_id.flatten() - 1
    try:
        return core.language_context(sources, tgt_lang_id.flatten() - 1)
    except LookupError as error:
        assert core.pairs is not None
        raise UserError(
            "with `--tdo-adapter-dim` only trained pairs can be translated, "
            f"{', '.join(core.pairs.names())}; {error.args[0]} has no adapter"
        ) from None


def tag_sides(args: Namespace) -> tuple[str | None, bool]:
    """Whose tag sources begin with, `src` or `tgt`, and whether targets begin with a tag.

    ``--langtoks`` overrides ``--encoder-langtok`` and ``--decoder-langtok``.
    """
    source, target = (getattr(args, f"{side}_langtok", None) for side in ("encoder", "decoder"))
    langtoks = getattr(args, "langtoks", None) or {}
    if not isinstance(langtoks, Mapping):
        raise UserError(f"`--langtoks` must be a dict of tags; it is {shown(str(langtoks))}")
    source, target = langtoks.get("main", (source, target))
    return source and source[:3], bool(target)


def tag_ids(task: Any) -> list[int]:
    """Source ids of symbols in sentences that are not text: language tags, and the tag of
    synthetic sources.

    Args:
        task: with its options; a task without languages has no tags.
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
    """The options in use whose symbols follow the language tags in the dictionary."""
    usual = {"--back-translated-tag": None, "--source-noise": "none"}
    values = {
        option: getattr(args, option[2:].replace("-", "_"), usual[option]) for option in usual
    }
    return [option for option, value in values.items() if value != usual[option]]


def check_task(spec: ModelSpec, args: Namespace, task: Any) -> None:
    """Check that the task's batches and tags fit the specification.

    Raises:
        UserError: sources see the first target symbol, but it differs between targets; batches
            have no language ids; sentences do not begin with the target language's tag; or masked
            tags are to be predicted.
    """
    source_tag, target_tag = tag_sides(args)
    if spec.source_sees_start and getattr(args, "lang_tok_replacing_bos_eos", False):
        raise UserError(
            "`--lang-tok-replacing-bos-eos` must be off with `--tdo-source-sees-start`, which "
            "needs the end symbol as first target symbol of every sentence; it is on"
        )
    if spec.language_aware or spec.pair_aware:
        if not getattr(task, "provides_lang_ids", False):
            raise UserError(
                f"`--task` must be tdo_translation or a task built on it for {_part(spec)}, which "
                f"needs correct language ids; it is {getattr(args, 'task', type(task).__name__)}"
            )
        if source_tag != "tgt" and not target_tag:
            raise UserError(
                f"`--encoder-langtok` must be tgt, or `--decoder-langtok` on, for {_part(spec)}: "
                f"without a tag the target language is not in the text; it is {source_tag}"
            )
    training = getattr(task, "training", False)
    if spec.num_pairs and training and getattr(task, "trains_unlisted_pairs", False):
        raise UserError(
            "`--tdo-adapter-dim` must be 0 with --task tdo_robt and with --monolingual, which "
            f"train on pairs that have no adapters; it is {spec.adapter_dim}"
        )
    if not spec.masked_tags:
        return
    if target_tag:
        raise UserError(
            "`--tdo-masked-tags` must be 0 with `--decoder-langtok`, which predicts tags; "
            f"it is {spec.masked_tags}"
        )
    tags = len(getattr(task, "langs", ())) if source_tag else 0
    tags += len(behind_tags(args))
    if spec.masked_tags > tags:
        raise UserError(
            f"`--tdo-masked-tags` must be at most {tags}, the number of language tags in the "
            f"dictionary and symbols after them; it is {spec.masked_tags}"
        )


def grown(state: Mapping[str, Any], core: TranslationModel, args: Any) -> Mapping[str, Any]:
    """A model's state dict extended by the core's additional language-specific parameters.

    A plain norm or projection is copied to every language; missing transformations and adapters
    keep the core's initialisation.

    Raises:
        UserError: the number of languages differs, or an optimizer's state would have to grow with
            the model.
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
            "`--reset-optimizer` must be set, since its optimizer does not have them; neither is"
        )
    return {**state, **new}


def _grown(stored: Tensor | None, parameter: Tensor, name: str, added: bool) -> dict[str, Tensor]:
    if stored is None:
        # a missing plain parameter means another architecture, which is reported elsewhere
        return {name: parameter.detach().clone()} if added else {}
    if stored.shape == parameter.shape[1:]:
        return {name: stored.expand_as(parameter).clone()}
    if stored.dim() == parameter.dim() and len(stored) != len(parameter):
        raise UserError(
            "the checkpoint must have the languages of `--langs`; its language-aware parts have "
            f"{len(stored)} rows, the model's {len(parameter)} (`tdo extend` adds languages)"
        )
    return {}


def _part(spec: ModelSpec) -> str:
    """The first option that needs languages."""
    first, *_ = spec.needing("languages", "pairs", "both languages").values()
    return f"`{first.flag}`"
