"""What a loss term is: it asks the model for states, and makes a loss of the answer."""

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

Sample = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What a term needs of the one forward pass.

    Attributes:
        source_states: layers, from 1, whose output of the batch's source is wanted.
        side_sources: further source tokens (B', S'), each with the layer that is wanted.
    """

    source_states: Sequence[int] = ()
    side_sources: Sequence[tuple[Tensor, int]] = ()


@dataclass(frozen=True)
class Answer:
    """The states (B, S, D) that a request named; those of a side source beside its tokens."""

    source_states: dict[int, Tensor] = field(default_factory=dict)
    side_sources: Sequence[tuple[Tensor, Tensor]] = ()


@dataclass(frozen=True)
class TermLoss:
    """A term's part of the objective, a sum like the cross-entropy's, and what it logs.

    ``logs`` are sums over sentences, reported as means under the term's name and the key.
    """

    loss: Tensor
    logs: dict[str, Tensor]


class LossTerm(Protocol):
    """One addition to the cross-entropy."""

    def __init__(self, options: Namespace, task: Any) -> None:
        """Raises UserError where the options or the task do not fit."""

    def request(self, model: Any, sample: Sample) -> Request:
        """What this batch needs; raises UserError where the model does not fit."""
        ...

    def loss(self, answer: Answer, sample: Sample) -> TermLoss:
        """The term's loss of this batch."""
        ...
