"""The translation of one sentence, and what the model did for it.

Shapes: S source, T target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tdo_plugin.analysis.explanation.attention_weights import PairWeights, pair_weights
from tdo_plugin.analysis.explanation.candidates import Step, steps_of
from tdo_plugin.analysis.explanation.sentence_preference import sentence_preference
from tdo_plugin.analysis.preference.measure import Preference
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import Hypothesis

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translator import Translator
    from tdo_plugin.modules.token_context import TokenContext

CANDIDATES = 10
LONGEST = 256  # tokens of a source; weights grow with the square


@dataclass(frozen=True)
class ExplainedTranslation:
    """A translation with its attention weights, candidates and preference.

    Attributes:
        hypothesis: the translation.
        source: symbols of the source, with tag and end symbol; S of them.
        target: symbols of the translation, with a forced tag and the end symbol; T of them.
        begin: the first symbol that the target stream reads, before the first of `target`.
        weights: attention weights and logits.
        steps: the candidates at each of the T steps, with their ids as symbols in `symbols`.
        symbols: the target vocabulary by id.
        preference: of each source layer; empty if it is not defined.
        no_preference: the reason why it is not; otherwise empty.
    """

    hypothesis: Hypothesis
    source: tuple[str, ...]
    target: tuple[str, ...]
    begin: str
    weights: PairWeights
    steps: tuple[Step, ...]
    symbols: list[str]
    preference: tuple[Preference, ...]
    no_preference: str


def check_explicable(translator: Translator) -> None:
    """Raise UserError if the translator's model cannot be explained."""
    from tdo_plugin.models.tdo_transformer import TdoTransformer

    if len(translator.models) != 1 or not isinstance(translator.models[0], TdoTransformer):
        names = " and ".join(type(model).__name__ for model in translator.models)
        raise UserError(f"`MODEL` must be one model of tdo_plugin; it is {names}")


def explain_translation(
    translator: Translator,
    direction: str,
    text: str,
    progress: Callable[[int], None] = lambda _: None,
) -> ExplainedTranslation:
    """Translate one sentence, and read the model's attention in a teacher-forced pass.

    Args:
        translator: of a single model.
        direction: such as `de-fr`.
        text: plain text of one sentence.
        progress: called after the search.

    Raises:
        UserError: the text is empty or too long, or a language is unknown.
    """
    translator.check(direction)
    task, ids = translator.task_of(direction), translator.encoded(direction, text)
    if len(ids) < 2:
        raise UserError("`text` must have a sentence; it is empty")
    longest = min(LONGEST, translator.limit(direction))
    if len(ids) + 1 > longest:
        raise UserError(
            f"`text` must have at most {longest} tokens to be explained; it has {len(ids) + 1}"
        )
    (hypothesis,) = translator.translate_lines(direction, [text], progress)
    core = translator.models[0].core
    src_tokens, context = _source(translator, direction, ids)
    begin, chosen = _target(task, hypothesis.pieces)
    previous = torch.cat([begin, chosen[:-1]])[None].to(translator.device)
    weights = pair_weights(core, src_tokens, previous, context)
    steps = steps_of(weights.logits, chosen.to(translator.device), CANDIDATES)
    preference, reason = _preference(translator, direction, ids, hypothesis.pieces)
    symbols = task.target_dictionary.symbols
    return ExplainedTranslation(
        hypothesis=hypothesis,
        source=tuple(task.source_dictionary[token] for token in src_tokens[0].tolist()),
        target=tuple(symbols[token] for token in chosen.tolist()),
        begin=symbols[int(begin)],
        weights=weights,
        steps=tuple(steps),
        symbols=symbols,
        preference=preference,
        no_preference=reason,
    )


def _source(translator: Translator, direction: str, ids: Tensor) -> tuple[Tensor, TokenContext]:
    """The source (1, S) as the model reads it, and its context, given ids without a tag."""
    from tdo_plugin.models.tdo_transformer import sentence_context

    dataset = translator.task_of(direction).build_dataset_for_inference([ids], [len(ids)])
    fed = dataset.collater([dataset[0]])["net_input"]
    core = translator.models[0].core
    context = sentence_context(core, fed.get("src_lang_id"), fed.get("tgt_lang_id"))
    return fed["src_tokens"].to(translator.device), context.to(translator.device)


def _target(task: Any, pieces: str) -> tuple[Tensor, Tensor]:
    """The first symbol (1,) of the target stream, and the translation's ids (T,)."""
    from tdo_plugin.models.forced_tag import forces_tag

    dictionary, args = task.target_dictionary, task.args
    ids = dictionary.encode_line(pieces, add_if_not_exist=False, append_eos=True).long()
    end = torch.tensor([dictionary.eos()])
    _, kind = args.langtoks["main"]
    if not kind:
        return end, ids
    tag = torch.tensor([task.data_manager.get_decoder_langtok(args.target_lang, kind)])
    return (end, torch.cat([tag, ids])) if forces_tag(task) else (tag, ids)


def _preference(
    translator: Translator, direction: str, ids: Tensor, pieces: str
) -> tuple[tuple[Preference, ...], str]:
    """The preference by layer, or the reason why there is none."""
    source, target = direction.split("-")
    core = translator.models[0].core
    if not translator.begins_with_target:
        return (), "the source does not begin with the tag of the target language"
    if core.spec.num_pairs:
        return (), "adapters for pairs have none for a language with itself"
    if source == target or not pieces:
        return (), "there is no translation into another language"
    dictionary = translator.task_of(direction).source_dictionary
    encode = partial(dictionary.encode_line, add_if_not_exist=False, append_eos=True)
    sentences = {source: ids, target: encode(pieces).long()}

    def source_of(language: str, tag: str) -> tuple[Tensor, TokenContext]:
        return _source(translator, f"{language}-{tag}", sentences[language])

    return sentence_preference(core, source_of, direction), ""
