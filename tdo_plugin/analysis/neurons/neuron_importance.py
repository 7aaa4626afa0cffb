"""The importance of each neuron to a model's output (Xie et al., 2021, section 3.1).

Shapes: B sentences, S source, T target, N positions that a module computes together, W neurons.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Method(NamedTuple):
    """The contribution of a position to the sum of a neuron.

    Attributes:
        by_gradient: whether the gradient of the loss is needed.
        value: a function of activations (N, W) and gradients (N, W; the activations again if
            gradients are not needed) that returns (N, W).
    """

    by_gradient: bool
    value: Callable[[Tensor, Tensor], Tensor]


METHODS = {
    # equation 7: first-order change of the loss if the neuron were 0 at this position
    "taylor": Method(True, lambda activation, gradient: (gradient * activation).abs()),
    # equation 8
    "absolute": Method(False, lambda activation, _: activation.abs()),
}


class RealPositions:
    """Selects the real positions from a module's output, by its number of positions.

    A module computes the source, the target, or [source ; target] row by row: B * S, B * T or
    B * (S + T) positions, three different numbers since S and T differ (:func:`unlike`).

    Args:
        source: boolean (B, S), true except at padding.
        target: boolean (B, T), true except at padding.

    Raises:
        ValueError: S and T are equal.
    """

    def __init__(self, source: Tensor, target: Tensor) -> None:
        if source.size(1) == target.size(1):
            raise ValueError(f"source and target must differ in length; both have {source.size(1)}")
        both = torch.cat([source, target], 1)
        self._places = {
            mask.numel(): mask.flatten().nonzero()[:, 0] for mask in (source, target, both)
        }

    def of(self, values: Tensor) -> Tensor:
        """The real positions of (N, W) or (B, length, W), concatenated.

        Raises:
            ValueError: the number of positions is none of the three.
        """
        flat = values.flatten(0, -2)
        if len(flat) not in self._places:
            raise ValueError(
                f"{len(flat)} positions are neither the source's, nor the target's, nor both: "
                f"{', '.join(map(str, self._places))}"
            )
        return flat.index_select(0, self._places[len(flat)])


def unlike(source: Tensor, target: Tensor, padding: int) -> Tensor:
    """The target (B, T), with a column of padding appended if it is as long as the source."""
    if source.size(1) != target.size(1):
        return target
    return nn.functional.pad(target, (0, 1), value=padding)


class NeuronMeans:
    """Means over positions without padding, accumulated batch by batch.

    Args:
        points: the modules whose outputs are neurons, by name.
        method: the value to average.
        scale: the loss is multiplied by it before the backward pass and gradients are divided by
            it afterwards, to avoid underflow in fp16.
        rectified: points whose neurons are measured after the ReLU that follows. A negative value
            then counts as 0; gradient times activation is the same on both sides.
    """

    def __init__(
        self,
        points: Mapping[str, nn.Module],
        method: Method,
        scale: float = 1.0,
        rectified: Container[str] = (),
    ) -> None:
        self._points, self._method, self._scale = points, method, scale
        self._rectified = rectified
        self.positions = dict.fromkeys(points, 0)
        self._sums: dict[str, Tensor] = {}

    def add(self, real: RealPositions, loss: Callable[[], Tensor]) -> float:
        """Run one forward pass and, if gradients are needed, one backward pass.

        Gradients of parameters are not changed, and parameters need not require any.

        Args:
            real: positions of the batch.
            loss: runs the model and returns the loss summed over the batch's tokens.

        Returns:
            the loss.
        """
        method = self._method
        with torch.set_grad_enabled(method.by_gradient), self._seen() as outputs:
            total_loss = loss()
        activations = [output for _, output in outputs]
        gradients: Sequence[Tensor] = activations
        if method.by_gradient:
            # 0 if the loss does not depend on the output
            gradients = torch.autograd.grad(
                total_loss * self._scale, activations, materialize_grads=True
            )
        for (name, output), gradient in zip(outputs, gradients, strict=True):
            self._add(name, real.of(output.detach()), real.of(gradient.detach()))
        return float(total_loss.detach())

    @property
    def means(self) -> dict[str, Tensor]:
        """The means of each module's neurons, (W,) in float64 on the CPU.

        Raises:
            ValueError: a module has not been run.
        """
        idle = [name for name, count in self.positions.items() if not count]
        if idle:
            raise ValueError(f"{idle[0]} has not been run")
        return {name: (self._sums[name] / count).cpu() for name, count in self.positions.items()}

    def _add(self, name: str, activation: Tensor, gradient: Tensor) -> None:
        self.positions[name] += len(activation)
        single = torch.promote_types(activation.dtype, torch.float32)
        scale = self._scale if self._method.by_gradient else 1.0
        if name in self._rectified:
            activation = activation.relu()
        value = self._method.value(activation.to(single), gradient.to(single) / scale)
        summed = value.sum(0, dtype=torch.float64)
        self._sums[name] = self._sums[name] + summed if name in self._sums else summed

    @contextmanager
    def _seen(self) -> Iterator[list[tuple[str, Tensor]]]:
        """The outputs of all points with their names, in the order of their calls."""
        outputs: list[tuple[str, Tensor]] = []

        def hook_of(name: str) -> Callable[[nn.Module, object, Tensor], Tensor]:
            def hook(_: nn.Module, __: object, output: Tensor) -> Tensor:
                # with frozen parameters, only the first points: later ones depend on them
                if self._method.by_gradient and not output.requires_grad:
                    output = output.detach().requires_grad_()
                outputs.append((name, output))
                return output

            return hook

        handles = [
            point.register_forward_hook(hook_of(name)) for name, point in self._points.items()
        ]
        try:
            yield outputs
        finally:
            for handle in handles:
                handle.remove()
