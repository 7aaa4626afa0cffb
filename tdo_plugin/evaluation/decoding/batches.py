"""Batches of a set for decoding or scoring, with a check of sentence lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions

BATCH_MULTIPLE = 8  # fairseq's --required-batch-size-multiple


def limits(task: Any, models: Sequence[Any]) -> tuple[int, int]:
    """The maximum tokens of source and target, including tags and end symbols."""
    from fairseq import utils

    source, target = utils.resolve_max_positions(
        task.max_positions(), *[model.max_positions() for model in models]
    )
    return source, target


def batches_of(
    task: Any, dataset: Any, models: Sequence[Any], options: DecodingOptions
) -> Iterator[Any]:
    """All batches of a set.

    Args:
        task: the task of the set's direction.
        dataset: the set.
        models: the models that process the set.
        options: decoding options; batch size and seed are used.

    Raises:
        UserError: a sentence is too long for a model or for a batch.
    """
    _check_lengths(task, dataset, models)
    try:
        batches = task.get_batch_iterator(
            dataset=dataset,
            max_tokens=options.max_tokens,
            max_sentences=options.batch_size,
            max_positions=limits(task, models),
            required_batch_size_multiple=BATCH_MULTIPLE,
            seed=options.seed,
            disable_iterator_cache=True,
        ).next_epoch_itr(shuffle=False)
    except AssertionError as error:
        if "max_tokens" not in str(error):
            raise
        raise UserError(
            f"`--max-tokens` must hold the longest sentence; it is {options.max_tokens} ({error})"
        ) from None
    yield from batches


def _check_lengths(task: Any, dataset: Any, models: Sequence[Any]) -> None:
    most_of_sides = limits(task, models)
    for number in range(len(dataset)):
        for length, most in zip(dataset.size(number), most_of_sides, strict=True):
            if length > most:
                direction = f"{task.args.source_lang}-{task.args.target_lang}"
                raise UserError(
                    f"{direction} must have sentences of at most {most} tokens; line "
                    f"{number + 1} has {length}"
                )


def batches_of_some(
    dataset: Any, numbers: Sequence[int], options: DecodingOptions
) -> Iterator[Any]:
    """Batches of some sentences of a set, sorted by length."""
    import numpy as np

    ordered = np.array(sorted(numbers, key=dataset.num_tokens), dtype=np.int64)
    for batch in dataset.batch_by_size(ordered, options.max_tokens, options.batch_size):
        yield dataset.collater([dataset[int(number)] for number in batch])
