"""Where the target enters a decoder-only model: after M layers, always or in the end (ours)."""

import random
from collections.abc import Callable

import torch
from torch import Tensor, nn


class TargetEntry(nn.Module):
    """After layer M, which is 0 in a one-stage model.

    Args:
        last: M.
    """

    def __init__(self, last: int) -> None:
        super().__init__()
        self.last = last

    @property
    def layer(self) -> int:
        """After how many layers, now."""
        return self.last


class RisingEntry(TargetEntry):
    """After 0 layers at first, one more at each of M equal steps, after M from some update on.

    A checkpoint has where it was. Without a first stage a model soon reads its source, and where a
    layer leaves the second stage, what it has learnt is there.

    Args:
        last: M.
        updates: how many there are before M is reached.
    """

    reached: Tensor

    def __init__(self, last: int, updates: int) -> None:
        super().__init__(last)
        self._updates = updates
        self._layer = 0  # as a number of Python's: `reached` may be on a GPU
        self.register_buffer("reached", torch.tensor(0))
        self.register_load_state_dict_post_hook(RisingEntry._loaded)

    @property
    def layer(self) -> int:
        return self._layer

    def set_num_updates(self, number: int) -> None:
        """As fairseq tells every module before each update; ``number`` have been made."""
        self._layer = min(self.last, self.last * number // self._updates)
        self.reached.fill_(self._layer)

    def _loaded(self, _: object) -> None:
        self._layer = int(self.reached)


class SampledEntry(TargetEntry):
    """After a number of layers that each update draws from 0 to M, after M from some update on.

    A draw depends on the number of the update alone, so that workers agree, and so does a training
    that goes on. Outside of training it is M.

    Args:
        last: M.
        updates: how many draw.
    """

    def __init__(self, last: int, updates: int) -> None:
        super().__init__(last)
        self._updates = updates
        self._drawn = last

    @property
    def layer(self) -> int:
        return self._drawn if self.training else self.last

    def set_num_updates(self, number: int) -> None:
        """As fairseq tells every module before each update; ``number`` have been made."""
        draws = number < self._updates
        self._drawn = random.Random(number).randint(0, self.last) if draws else self.last


SCHEDULES: dict[str, Callable[[int, int], TargetEntry]] = {
    "none": lambda last, updates: TargetEntry(last),
    "rise": RisingEntry,
    "sample": SampledEntry,
}
