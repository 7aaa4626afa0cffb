"""Back-translation by the model that is being trained (Algorithm 1, line 7)."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from fairseq import utils
from torch import Tensor

from tdo_plugin.models.greedy_search import greedy_search, is_possible
from tdo_plugin.tasks.robt.reversed_pairs import Instance, Sides


class _Query(NamedTuple):
    """A source to translate, and the maximum number of words of its translation."""

    instance: Instance
    source: list[int]
    most: int


def translate(
    task: Any, model: Any, sides: Sides, instances: Sequence[Instance]
) -> list[tuple[Instance, tuple[int, ...]]]:
    """Instances with their usable back-translations, without tag and end.

    Each source is encoded once. With a beam above 1, the batch is searched up to its highest length
    limit and each translation cut at its own limit, which is nearly what searching each sentence
    separately would find. A translation that reaches its limit without an end is kept, as in the
    authors' code.

    Not usable are targets without words or too long for a source, and translations that are empty
    or repeat themselves without an end (:func:`runs_in_circles`).

    Args:
        task: provides the options.
        model: in evaluation mode, without gradients.
        sides: of the task's data.
        instances: of one batch.
    """
    source_room, target_room = utils.resolve_max_positions(
        task.max_positions(), model.max_positions()
    )
    longest = min(source_room - sides.marks, target_room - 1 - sides.prefix)
    queries = []
    for instance in instances:
        source = sides.source(instance.words, instance.target, instance.drawn)
        if not sides.is_empty(instance.words) and len(source) <= source_room:
            most = limit(len(source), task.args.robt_max_length_ratio, longest)
            queries.append(_Query(instance, source, most))
    if not queries:
        return []
    translated = []
    for query, words in zip(queries, _search(task, model, sides, queries), strict=True):
        words = words[: query.most]
        endless = len(words) == query.most and runs_in_circles(words)
        if not (endless or sides.is_empty(words)):
            translated.append((query.instance, words))
    return translated


def _search(
    task: Any, model: Any, sides: Sides, queries: Sequence[_Query]
) -> list[tuple[int, ...]]:
    """The words of each query's best hypothesis; may exceed the query's limit."""
    drawn = [query.instance.drawn for query in queries]
    targets = [query.instance.target for query in queries]
    device = next(model.parameters()).device
    fed = sides.fed([query.source for query in queries], targets, drawn, device)
    begin = sides.begin(drawn).to(device, non_blocking=True)
    limits = [query.most for query in queries]
    if task.args.robt_beam == 1 and not task.args.whole_search and is_possible(model):
        return [*map(tuple, greedy_search(model, fed, begin, limits))]
    return [*map(sides.words, _generated(task, model, fed, begin, max(limits)))]


def _generated(
    task: Any, model: Any, fed: dict[str, Tensor], begin: Tensor, most: int
) -> list[Sequence[int]]:
    """Best hypotheses of the task's generator with at most ``most`` words, with tag and end."""
    tags = begin.size(1) - 1
    options = Namespace(
        beam=task.args.robt_beam,
        max_len_a=0,
        max_len_b=most + tags,
        min_len=1 + tags,  # at least one word
        keep_inference_langtok=True,  # the tag differs between sentences
    )
    hypotheses = task.build_generator([model], options).generate(
        [model], {"net_input": fed}, prefix_tokens=begin[:, 1:] if tags else None
    )
    best = [ranked[0]["tokens"] for ranked in hypotheses]
    words: list[int] = torch.cat(best).tolist()  # copied from the device once
    ends = accumulate(map(len, best))
    return [words[end - len(tokens) : end] for tokens, end in zip(best, ends, strict=True)]


def limit(length: int, ratio: float, longest: int) -> int:
    """The maximum number of words of a back-translation, at least 1.

    Args:
        length: number of tokens to translate, with tag and end.
        ratio: maximum length relative to these.
        longest: maximum that the model can take.
    """
    return max(1, min(int(ratio * length), longest))


def runs_in_circles(words: Sequence[int]) -> bool:
    """Whether the second half repeats one cycle at least twice: a search that got stuck."""
    half = words[len(words) // 2 :]
    return any(half[period:] == half[:-period] for period in range(1, len(half) // 2 + 1))
