"""Step hooks: transformations of a batch before it is trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from operator import add
from typing import Any, Protocol

import torch

Sample = dict[str, Any]


class StepHook(Protocol):
    """Replaces a batch by the batches that an update is trained on.

    No state is kept between calls, so that a batch may be repeated (if the loss scale was too
    large) or be a dummy (for a worker that has run out of data).
    """

    def batches(
        self, sample: Sample, model: Any, update: int
    ) -> tuple[list[Sample], dict[str, float]]:
        """The batches, at least one, and values to log.

        Args:
            sample: as the trainer provides it.
            model: in training mode, possibly in the wrapper of distributed training.
            update: number of earlier updates.

        Returns:
            Workers may return different numbers of batches. The log always has the same keys, since
            fairseq sums the values over workers.
        """
        ...

    def log(self, logging_outputs: Sequence[dict[str, Any]]) -> None:
        """Pass an update's logs, which include the criterion's entries, to fairseq's meters."""
        ...


def batches_of(
    hooks: Iterable[StepHook], sample: Sample, model: Any, update: int
) -> tuple[list[Sample], dict[str, float]]:
    """Apply all hooks to a batch: each gets every batch that the previous one returned."""
    batches, logs = [sample], {}
    for hook in hooks:
        results = [hook.batches(batch, model, update) for batch in batches]
        batches = [batch for parts, _ in results for batch in parts]
        logs.update(summed([batch_logs for _, batch_logs in results]))
    return batches, logs


def summed(logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The logs of several batches, added up."""
    return {key: reduce(add, (log[key] for log in logs)) for key in logs[0]}


def in_one_update(
    batches: Sequence[Sample], model: Any, criterion: Any, **details: Any
) -> Iterator[Sample]:
    """Iterate over the batches of an update; each must be trained on before the next.

    All but the last skip synchronisation among workers. Criterions with ``in_update`` are notified,
    since some train parameters outside the model.

    Args:
        batches: made from one batch by step hooks.
        model: possibly in the wrapper of distributed training.
        criterion: may have ``in_update``.
        details: of the update: the model's learning rate ``lr``; its ``number``, from 0; whether
            the batches are a ``dummy`` for a worker that has run out of data. ``first`` is added,
            since workers may have different numbers of later batches.
    """
    for place, batch in enumerate(batches):
        last = place == len(batches) - 1
        with (
            nullcontext() if last else _unsynchronized(model),
            _update_of(criterion, first=place == 0, **details),
        ):
            yield batch


def _update_of(criterion: Any, **details: Any) -> AbstractContextManager[Any]:
    if not hasattr(criterion, "in_update"):
        return nullcontext()
    inside: AbstractContextManager[Any] = criterion.in_update(**details)
    return inside


def _unsynchronized(model: Any) -> AbstractContextManager[Any]:
    """Accumulate gradients without synchronising workers.

    With all batches but the last inside, each worker synchronises once per update, regardless of
    its number of batches, so no worker waits for another.
    """
    return model.no_sync() if hasattr(model, "no_sync") else nullcontext()


def unwrapped(model: Any) -> Any:
    """The model without the wrappers of distributed training."""
    while hasattr(model, "module"):
        model = model.module
    return model


def whole_weights(model: Any) -> AbstractContextManager[Any]:
    """Context manager for a search: in sharded training all weights are gathered.

    All workers must enter it together, even those that have nothing to search.

    Args:
        model: without wrappers.
    """
    gathered: AbstractContextManager[Any] = getattr(model, "whole_weights", nullcontext)()
    return gathered


def key_of(sample: Sample, seed: int, update: int) -> list[int]:
    """The seed of a batch's random draws: seed, update, and the ids of its sentences.

    So a batch's draws are the same on any worker and after resuming, without any state.
    """
    fed = sample["net_input"]
    columns = (sample["id"], fed["src_lang_id"], fed["tgt_lang_id"])
    return [seed, update, *torch.cat([column.flatten() for column in columns]).tolist()]
