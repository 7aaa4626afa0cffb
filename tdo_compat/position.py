"""The position in an epoch, which a training can resume with another number of workers.

fairseq stores the number of batches that each worker has seen, so a training that resumes with
half as many workers would see half of them again, and one with twice as many would omit some.
Batches are shuffled before they are distributed, so the first batches of the epoch, in number the
product of both, are those that all workers together have seen.
"""

from __future__ import annotations

import functools
from typing import Any

WORKERS = "workers"  # key in the stored state


def resume_with_other_workers(iterator: Any) -> None:
    """Store the number of workers with the position, and convert the position when it differs.

    Where the batches seen do not divide evenly, the resumed training begins with the last ones,
    fewer than it has workers, again.

    Args:
        iterator: fairseq's EpochBatchIterator, changed in place.
    """
    state_of, load = iterator.state_dict, iterator.load_state_dict

    @functools.wraps(state_of)
    def state_dict(self: Any) -> dict[str, Any]:
        return {**state_of(self), WORKERS: self.num_shards}

    @functools.wraps(load)
    def load_state_dict(self: Any, state: dict[str, Any]) -> None:
        position = state.get("iterations_in_epoch", 0)
        if (workers := state.get(WORKERS, self.num_shards)) != self.num_shards:
            position = position * workers // self.num_shards
        load(self, {**state, "iterations_in_epoch": position})

    iterator.state_dict, iterator.load_state_dict = state_dict, load_state_dict
