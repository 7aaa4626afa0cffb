"""The interface of loss terms: a term requests outputs of the model and computes a loss."""

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


def scored_target(sample: Sample, ignored: int, padding_idx: int) -> tuple[Tensor, int]:
    """A batch's target (B, T) and its number of tokens without padding.

    The first ``ignored`` tokens of each sentence, which are not scored, become padding; then the
    number is read from the device.
    """
    target: Tensor = sample["target"]
    if ignored == 0:
        return target, int(sample["ntokens"])
    scored = target.clone()
    scored[:, :ignored] = padding_idx
    return scored, int(scored.ne(padding_idx).sum())


@dataclass(frozen=True)
class Update:
    """The update of the model that a batch is trained in.

    Attributes:
        lr: the model's learning rate in the update.
        number: the number of earlier updates.
        dummy: whether the batch replaces one of a worker that has no data left; terms must not
            train on it.
        first: whether it is the first of the batches that step hooks made of one; workers may have
            different numbers of later ones.
    """

    lr: float
    number: int = 0
    dummy: bool = False
    first: bool = True


@dataclass(frozen=True)
class OutputRequest:
    """The outputs of the forward pass that a term needs.

    Attributes:
        source_layer_outputs: layers, from 1, whose output for the batch's source is needed.
        source_token_states: pairs of a layer, from 1, and one position (B,) per sentence at which
            the source's output is needed.
        side_sources: further sources, with the outputs needed from them.
        capture: names of tensors needed from inside the layers of the batch's source.
        source_loss: a function of the model's core and the source's state, called inside the
            forward pass, because the model's parameters may not be used elsewhere.
    """

    source_layer_outputs: Sequence[int] = ()
    source_token_states: Sequence[tuple[int, Tensor]] = ()
    side_sources: Sequence[SourceRequest] = ()
    capture: Collection[str] = ()
    source_loss: Callable[[TranslationModel, SourceState], Any] | None = None


@dataclass(frozen=True)
class ModelOutputs:
    """The requested outputs: outputs (B, S, D) by layer, token states (B, D) and sources in
    the order of the request, captured tensors by name, and the function's result.
    """

    source_layer_outputs: dict[int, Tensor] = field(default_factory=dict)
    source_token_states: Sequence[Tensor] = ()
    side_sources: Sequence[SourceState] = ()
    captured: dict[str, Tensor] = field(default_factory=dict)
    source_loss: Any = None


@dataclass(frozen=True)
class LossOutput:
    """A term's part of the objective, a sum like the cross-entropy's, and the values it logs.

    ``logs`` are sums over sentences, reported as means under the term's name and the key. If they
    contain ``ntokens``, then ``nll_loss`` is a sum over that many tokens, reported in bits per
    token.
    """

    loss: Tensor
    logs: dict[str, Tensor | int]


class LossTerm(Protocol):
    """A loss that is added to the cross-entropy.

    Attributes:
        name: for ``--loss-terms``, logs and messages.
        option_class: declares the term's command-line options.
        needs_source: whether the term ignores sentences without a source.
    """

    name: str
    option_class: type[FairseqDataclass]
    needs_source: bool

    def __init__(self, options: Namespace, task: Any) -> None:
        """Raises UserError if the options or the task do not fit the term."""

    def request(self, model: Any, sample: Sample, update: Update | None = None) -> OutputRequest:
        """The outputs needed for :meth:`loss`; raises UserError if the model does not fit."""
        ...

    def loss(
        self, outputs: ModelOutputs, sample: Sample, update: Update | None = None
    ) -> LossOutput:
        """The term's loss of this batch; ``update`` is None outside of training."""
        ...


def combined(requests: Sequence[OutputRequest]) -> dict[str, Any]:
    """Arguments of a forward pass that serves all requests; empty if there are none."""
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
        requests: as passed to :func:`combined`.
        extra: the forward pass's results other than logits.
    """
    if not requests:
        return []  # a model without terms may be any fairseq model
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
    """The specification of a model; None for a model of another package."""
    core = getattr(model, "core", None)
    return None if core is None else core.spec


def spec_of_training(task: Any) -> ModelSpec | None:
    """The specification of the model that a task's training builds, or None as above.

    Raises:
        UserError: as :func:`spec_from_args` does.
    """
    args = getattr(task, "args", Namespace())
    if not hasattr(args, "tdo_topology"):
        return None
    return spec_from_args(args, len(getattr(task, "langs", ())), len(trained_pairs(args)))
