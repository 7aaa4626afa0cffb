"""What a loss term is: it asks the model for states, and makes a loss of the answer."""

from argparse import Namespace
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor

from tdo_plugin.modules.source_state import SourceRequest, SourceState

Sample = dict[str, Any]


def scored_target(target: Tensor, ignored: int, padding_idx: int) -> Tensor:
    """A target (B, T) with padding in the place of its first tokens, which are not scored."""
    if ignored == 0:
        return target
    scored = target.clone()
    scored[:, :ignored] = padding_idx
    return scored


@dataclass(frozen=True)
class Update:
    """The update of the model that a batch is trained on in.

    Attributes:
        lr: the model's learning rate in it.
        number: how many there have been before it.
        dummy: whether the batch stands in for one of a worker that has none left; nothing may be
            learnt of it.
        first: whether it is the first of those that step hooks made of one; of later ones workers
            need not have equally many.
    """

    lr: float
    number: int = 0
    dummy: bool = False
    first: bool = True


@dataclass(frozen=True)
class Request:
    """What a term needs of the one forward pass.

    Attributes:
        source_layer_outputs: layers, from 1, whose output of the batch's source is wanted.
        source_token_states: layers, from 1, whose output of the batch's source is wanted at one
            position (B,) of each sentence.
        side_sources: further sources, and what is wanted of them.
        capture: names of tensors inside the layers of the batch's source that are wanted.
        reconstructed: what the source's last state is to tell (B, S), padding where nothing, and
            label smoothing, where their cross-entropy is wanted.
        lexical_target: a target (B, T) whose words the source is to predict where the target
            enters, padding where nothing.
    """

    source_layer_outputs: Sequence[int] = ()
    source_token_states: Sequence[tuple[int, Tensor]] = ()
    side_sources: Sequence[SourceRequest] = ()
    capture: Collection[str] = ()
    reconstructed: tuple[Tensor, float] | None = None
    lexical_target: Tensor | None = None


@dataclass(frozen=True)
class Answer:
    """What a request named: outputs (B, S, D) by layer, token states (B, D) and sources in
    its order, and captured tensors by name.

    Of what is reconstructed, loss and likelihood, summed; of the words that are predicted, the
    likelihood.
    """

    source_layer_outputs: dict[int, Tensor] = field(default_factory=dict)
    source_token_states: Sequence[Tensor] = ()
    side_sources: Sequence[SourceState] = ()
    captured: dict[str, Tensor] = field(default_factory=dict)
    reconstructed: tuple[Tensor, Tensor] | None = None
    lexical: Tensor | None = None


@dataclass(frozen=True)
class LossOutput:
    """A term's part of the objective, a sum like the cross-entropy's, and what it logs.

    ``logs`` are sums over sentences, reported as means under the term's name and the key; where
    there are ``ntokens`` among them, ``nll_loss`` is a sum over so many tokens, reported in bits
    of each.
    """

    loss: Tensor
    logs: dict[str, Tensor]


class LossTerm(Protocol):
    """One addition to the cross-entropy."""

    def __init__(self, options: Namespace, task: Any) -> None:
        """Raises UserError where the options or the task do not fit."""

    def request(self, model: Any, sample: Sample, update: Update | None = None) -> Request:
        """What this batch needs, as of :meth:`loss`; raises UserError where the model is unfit."""
        ...

    def loss(self, answer: Answer, sample: Sample, update: Update | None = None) -> LossOutput:
        """The term's loss of this batch, which an update is made of, or nothing (None)."""
        ...
