"""What a loss term is: it requests outputs of the model, and makes a loss of them."""

from argparse import Namespace
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Protocol

from fairseq.dataclass import FairseqDataclass
from torch import Tensor

from tdo_plugin.models.config import spec_from_args
from tdo_plugin.models.trained_pairs import trained_pairs
from tdo_plugin.modules.source_state import SourceRequest, SourceState
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.translation_model import TranslationModel

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
class OutputRequest:
    """What a term needs of the one forward pass.

    Attributes:
        source_layer_outputs: layers, from 1, whose output of the batch's source is needed.
        source_token_states: layers, from 1, whose output of the batch's source is needed at one
            position (B,) of each sentence.
        side_sources: further sources, and what is needed of them.
        capture: names of tensors inside the layers of the batch's source that are needed.
        source_loss: what is computed inside the pass, as the model's parameters may be used
            nowhere else: a function of the model's core and of the source's state.
    """

    source_layer_outputs: Sequence[int] = ()
    source_token_states: Sequence[tuple[int, Tensor]] = ()
    side_sources: Sequence[SourceRequest] = ()
    capture: Collection[str] = ()
    source_loss: Callable[[TranslationModel, SourceState], Any] | None = None


@dataclass(frozen=True)
class ModelOutputs:
    """What a request named: outputs (B, S, D) by layer, token states (B, D) and sources in
    its order, captured tensors by name, and what the function inside the pass returned.
    """

    source_layer_outputs: dict[int, Tensor] = field(default_factory=dict)
    source_token_states: Sequence[Tensor] = ()
    side_sources: Sequence[SourceState] = ()
    captured: dict[str, Tensor] = field(default_factory=dict)
    source_loss: Any = None


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
    """One addition to the cross-entropy.

    Attributes:
        name: for ``--loss-terms``, for logs, and in messages.
        option_class: declares its options on the command line.
        needs_source: whether it has nothing to look at in a sentence without a source.
    """

    name: str
    option_class: type[FairseqDataclass]
    needs_source: bool

    def __init__(self, options: Namespace, task: Any) -> None:
        """Raises UserError where the options or the task do not fit."""

    def request(self, model: Any, sample: Sample, update: Update | None = None) -> OutputRequest:
        """What this batch needs, as of :meth:`loss`; raises UserError where the model is unfit."""
        ...

    def loss(
        self, outputs: ModelOutputs, sample: Sample, update: Update | None = None
    ) -> LossOutput:
        """The term's loss of this batch, which an update is made of, or nothing (None)."""
        ...


def combined(requests: Sequence[OutputRequest]) -> dict[str, Any]:
    """Arguments of the model's forward pass that serves all requests; none for no request."""
    if not requests:
        return {}
    return {
        "source_layer_outputs": sorted({*chain(*(r.source_layer_outputs for r in requests))}),
        "source_token_states": [*chain(*(r.source_token_states for r in requests))],
        "side_sources": [*chain(*(r.side_sources for r in requests))],
        "source_capture": {*chain(*(r.capture for r in requests))},
        "source_losses": [r.source_loss for r in requests if r.source_loss is not None],
    }


def shared_out(requests: Sequence[OutputRequest], extra: dict[str, Any]) -> list[ModelOutputs]:
    """Each request's outputs, in order.

    Args:
        requests: as they were :func:`combined`.
        extra: what the forward pass returned beside logits.
    """
    if not requests:
        return []  # a model without terms may be any of fairseq's
    source = extra["source"]
    token_states, sides = iter(source.token_states), iter(extra["side_sources"])
    losses = iter(extra["source_losses"])
    return [
        ModelOutputs(
            {layer: source.layer_outputs[layer] for layer in request.source_layer_outputs},
            list(islice(token_states, len(request.source_token_states))),
            list(islice(sides, len(request.side_sources))),
            {name: source.captured[name] for name in request.capture if name in source.captured},
            None if request.source_loss is None else next(losses),
        )
        for request in requests
    ]


def spec_of(model: Any) -> ModelSpec | None:
    """The specification of a model; None of one that is not this package's."""
    core = getattr(model, "core", None)
    return None if core is None else core.spec


def spec_of_training(task: Any) -> ModelSpec | None:
    """The specification of the model that a task's training builds, or None likewise.

    Raises:
        UserError: as :func:`spec_from_args`.
    """
    args = getattr(task, "args", Namespace())
    if not hasattr(args, "tdo_topology"):
        return None
    return spec_from_args(args, len(getattr(task, "langs", ())), len(trained_pairs(args)))
