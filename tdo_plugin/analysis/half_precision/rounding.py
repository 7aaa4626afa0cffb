"""Half precision against single precision with the same weights and batches, layer by layer.

The model itself is converted, as in training, and torch's kernels compute. Products of half-
precision matrices are summed in single precision and rounded once, as in a GPU's tensor cores.
Scores of attention are stored in half precision only where attention is written out as separate
products (bf16 on a CPU); fused kernels keep them in single precision.
"""

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tdo_plugin.analysis.half_precision.layer_tensors import (
    GRADIENT,
    INNER,
    RESIDUAL,
    SCORES,
    STATE,
    layers_of,
    observed,
)
from tdo_plugin.analysis.half_precision.single_sums import SingleSums

FP16 = torch.finfo(torch.float16)
LARGEST, SMALLEST = FP16.max, FP16.smallest_normal
VANISHES = FP16.smallest_normal * FP16.eps / 2  # fp16 rounds it, and what is smaller, to zero
HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}
FIRST_SCALE = {"fp16": 128.0, "bf16": 1.0}  # fairseq's; it halves a scale that overflows
LEAST_SCALE = 1e-4  # fairseq's default
SCALES = (1.0, 128.0, 2.0**14)
OUTSIDE = "embeddings"  # all parameters outside layers


@dataclass(frozen=True)
class LayerNumbers:
    """One layer.

    Attributes:
        layer: its name.
        largest: largest absolute value in single precision by place: residual stream, FFN, scores.
        gradient: largest absolute gradient of the summed loss, with respect to the layer's states
            and parameters, in single precision and without loss scale.
        subnormal: share of the gradients other than zero that are below fp16's smallest normal
            number, by loss scale.
        vanishing: share of them that fp16 rounds to zero, by loss scale.
        state_errors: relative error of the layer's output by number format; not finite after an
            overflow.
        gradient_errors: relative error of the gradients of the layer's parameters.
    """

    layer: str
    largest: Mapping[str, float]
    gradient: float
    subnormal: Mapping[float, float]
    vanishing: Mapping[float, float]
    state_errors: Mapping[str, float]
    gradient_errors: Mapping[str, float]


@dataclass(frozen=True)
class Rounding:
    """A model's numbers.

    Attributes:
        layers: in order, then the parameters outside of layers.
        loss: the summed loss in single precision.
        loss_errors: relative error of the loss by number format.
        scales: loss scale of the gradients by number format, the first that did not overflow.
    """

    layers: tuple[LayerNumbers, ...]
    loss: float
    loss_errors: Mapping[str, float]
    scales: Mapping[str, float]


def compare(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], formats: Iterable[str] = tuple(HALVES)
) -> Rounding:
    """Compute the loss and its gradients in single precision and in each half-precision format.

    The model is set to evaluation mode, so that all passes are the same but for rounding.

    Args:
        model: in single precision, with a :class:`.TranslationModel` as ``core``.
        loss: computes the summed loss of the batches, a scalar in at least single precision.
        formats: names in `HALVES`.
    """
    model.eval()
    single = _Pass()
    value = single.run(model, loss)
    halves = {name: _in_half(model, loss, name, single.states) for name in formats}
    numbers = []
    for layer in [*layers_of(_stack(model)), OUTSIDE]:
        shares = single.gradients[layer]
        numbers.append(
            LayerNumbers(
                layer,
                {place: single.largest[layer, place] for place in (RESIDUAL, INNER, SCORES)}
                if layer != OUTSIDE
                else {},
                shares.largest,
                {scale: shares.below(SMALLEST, scale) for scale in SCALES},
                {scale: shares.below(VANISHES, scale) for scale in SCALES},
                {name: half.errors[layer] for name, half in halves.items() if layer != OUTSIDE},
                {name: half.gradient_errors[layer] for name, half in halves.items()},
            )
        )
    return Rounding(
        tuple(numbers),
        value,
        {name: abs(half.loss - value) / abs(value) for name, half in halves.items()},
        {name: half.scale for name, half in halves.items()},
    )


@dataclass
class _Gradients:
    """Counts of gradients by size."""

    largest: float = 0.0
    nonzero: int = 0
    counts: Counter[tuple[float, float]] = field(default_factory=Counter)

    def add(self, gradient: Tensor) -> None:
        sizes = gradient.detach().abs()
        self.largest = max(self.largest, float(sizes.max()))
        sizes = sizes[sizes > 0]
        self.nonzero += sizes.numel()
        for limit in (SMALLEST, VANISHES):
            for scale in SCALES:
                self.counts[limit, scale] += int((sizes * scale < limit).sum())

    def below(self, limit: float, scale: float) -> float:
        return self.counts[limit, scale] / max(self.nonzero, 1)


class _Pass:
    """A forward and backward pass in single precision."""

    def __init__(self) -> None:
        self.largest: dict[tuple[str, str], float] = defaultdict(float)
        self.states: dict[str, list[Tensor]] = defaultdict(list)
        self.gradients: dict[str, _Gradients] = defaultdict(_Gradients)

    def run(self, model: nn.Module, loss: Callable[[nn.Module], Tensor]) -> float:
        model.zero_grad()
        with observed(_stack(model), self._see):
            value = loss(model)
            value.backward()
        for layer, parameters in _by_layer(model).items():
            for parameter in parameters:
                if parameter.grad is not None:
                    self.gradients[layer].add(parameter.grad)
        return float(value.detach())

    def _see(self, layer: str, place: str, tensor: Tensor) -> None:
        if place == GRADIENT:
            self.gradients[layer].add(tensor)
            return
        if place == STATE:
            self.states[layer].append(tensor)
            place = RESIDUAL
        key = layer, place
        self.largest[key] = max(self.largest[key], float(tensor.abs().max()))


@dataclass(frozen=True)
class _Half:
    """A forward and backward pass in half precision."""

    loss: float
    scale: float
    errors: Mapping[str, float]
    gradient_errors: Mapping[str, float]


def _in_half(
    model: nn.Module,
    loss: Callable[[nn.Module], Tensor],
    name: str,
    states: Mapping[str, list[Tensor]],
) -> _Half:
    half: Any = copy.deepcopy(model).to(HALVES[name])
    scale = FIRST_SCALE[name]
    while True:
        half.zero_grad()
        squares: dict[str, _Error] = defaultdict(_Error)
        exact = {layer: iter(tensors) for layer, tensors in states.items()}

        def see(layer: str, place: str, tensor: Tensor) -> None:
            if place == STATE:
                squares[layer].add(tensor, next(exact[layer]))  # noqa: B023

        with SingleSums():  # type: ignore[no-untyped-call]
            with observed(_stack(half), see):
                value = loss(half)
            (value * scale).backward()
        finite = all(
            bool(parameter.grad.isfinite().all())
            for parameter in half.parameters()
            if parameter.grad is not None
        )
        # a smaller scale cannot repair a loss that is not finite
        if finite or not math.isfinite(float(value.detach())) or scale / 2 <= LEAST_SCALE:
            break
        scale /= 2
    errors = {layer: error.relative for layer, error in squares.items()}
    single = _by_layer(model)
    gradients: dict[str, _Error] = defaultdict(_Error)
    for layer, parameters in _by_layer(half).items():
        for rounded, parameter in zip(parameters, single[layer], strict=True):
            if rounded.grad is not None and parameter.grad is not None:
                gradients[layer].add(rounded.grad.float() / scale, parameter.grad)
    shown = {layer: gradients[layer].relative for layer in single}
    return _Half(float(value.detach()), scale, errors, shown)


@dataclass
class _Error:
    """Squared norms of a difference and of what it is measured against."""

    difference: float = 0.0
    exact: float = 0.0

    def add(self, rounded: Tensor, exact: Tensor) -> None:
        self.difference += float((rounded.double() - exact.double()).square().sum())
        self.exact += float(exact.double().square().sum())

    @property
    def relative(self) -> float:
        return math.sqrt(self.difference / self.exact) if self.exact else 0.0


def _stack(model: Any) -> nn.Module:
    stack: nn.Module = model.core.stack
    return stack


def _by_layer(model: nn.Module) -> dict[str, list[nn.Parameter]]:
    """Each layer's parameters, and those outside of layers, in an order of their own."""
    parts = {layer: [*part.parameters()] for layer, part in layers_of(_stack(model)).items()}
    inside = {id(parameter) for parameters in parts.values() for parameter in parameters}
    parts[OUTSIDE] = [part for part in model.parameters() if id(part) not in inside]
    return parts
