"""What a batch becomes before it is trained on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import reduce
from operator import add
from typing import Any, Protocol

Sample = dict[str, Any]


class StepHook(Protocol):
    """Makes of one batch those that an update is trained on in its place.

    Nothing is kept from one call to the next, so that a batch may be repeated (a loss scale that
    was too large) or stand for another (the dummy batch of a worker that has run out of data).
    """

    def batches(
        self, sample: Sample, model: Any, update: int
    ) -> tuple[list[Sample], dict[str, float]]:
        """The batches, at least one, and what to log of their making.

        Args:
            sample: as the trainer gives it.
            model: in training mode, perhaps in the wrapper of distributed training.
            update: how many there have been.

        Returns:
            Workers need not have equally many batches. The keys of the logs are always the same
            ones, as fairseq adds their values up among workers; they are sums.
        """
        ...

    def log(self, logging_outputs: Sequence[dict[str, Any]]) -> None:
        """Hand an update's logs, which have the criterion's entries too, to fairseq's meters."""
        ...


def batches_of(
    hooks: Iterable[StepHook], sample: Sample, model: Any, update: int
) -> tuple[list[Sample], dict[str, float]]:
    """A batch through all hooks: each gets every batch that the one before has made."""
    batches, logs = [sample], {}
    for hook in hooks:
        results = [hook.batches(batch, model, update) for batch in batches]
        batches = [batch for parts, _ in results for batch in parts]
        logs.update(summed([batch_logs for _, batch_logs in results]))
    return batches, logs


def summed(logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several batches' logs as one batch's."""
    return {key: reduce(add, (log[key] for log in logs)) for key in logs[0]}


def in_one_update(
    batches: Sequence[Sample], model: Any, criterion: Any, **details: Any
) -> Iterator[Sample]:
    """Each batch of an update, inside of which it is to be trained on, before the next.

    All but the last are without synchronization among workers. A criterion that wants to, since
    some train what is not the model's, is told of the update.

    Args:
        batches: that were made of one.
        model: perhaps in the wrapper of distributed training.
        criterion: has ``in_update``, or wants to know nothing.
        details: what is known of the update: the model's learning rate ``lr``; its ``number``, from
            0; whether the batches stand in for one of a worker that has none left, a ``dummy``. The
            ``first`` batch is told from others, since workers need not have equally many of these.
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
    """Let gradients add up without telling other workers, where the model is shared with some.

    With all batches but the last inside, each worker synchronizes once an update however many
    batches it has; nobody waits for a worker that has fewer.
    """
    return model.no_sync() if hasattr(model, "no_sync") else nullcontext()


def unwrapped(model: Any) -> Any:
    """The model itself, without the wrappers of distributed training."""
    while hasattr(model, "module"):
        model = model.module
    return model


def key_of(sample: Sample, seed: int, update: int) -> list[int]:
    """What a batch's draws are a function of: seed, update, and which sentences it has.

    So a batch draws the same whether the training was interrupted or not, and on whichever worker;
    there is no state.
    """
    fed = sample["net_input"]
    columns = (sample["id"], fed["src_lang_id"].flatten(), fed["tgt_lang_id"].flatten())
    return [seed, update, *(number for column in columns for number in column.tolist())]
