"""The neurons that each language pair uses, and the gates that apply them (Xie et al., 2021).

Shapes: B sentences, P pairs with masks of their own, W all neurons of a stack.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.layer import FeedForward
from tdo_plugin.modules.methods.neuron_gate import NeuronGate
from tdo_plugin.modules.methods.neurons import projections


class NeuronMasks(nn.Module):
    """Puts a gate after every projection of a stack and looks up each pair's row of masks.

    Its buffers hold everything that a checkpoint needs. A new instance has no masks until
    :meth:`take` is called.

    Args:
        stack: layers; the outputs of their projections pass through the gates from now on.
        num_languages: of the model.
        zero_shot: mask of a pair without one: `union` of the masks of all pairs with its source
            language and all with its target language, or the `general` neurons alone (also if
            there are no such pairs).
    """

    masks: Tensor
    general: Tensor
    pairs: Tensor
    digest: Tensor
    rows: Tensor

    def __init__(self, stack: nn.Module, num_languages: int, zero_shot: str = "union") -> None:
        super().__init__()
        self.zero_shot = zero_shot
        self.awaited = ""  # digest of the parameters that the masks belong to, until loaded
        # parts of the stack, which already registers their parameters
        self._projections = projections(stack)
        self._widths = [part.out_features for part in self._projections.values()]
        self._gates: tuple[NeuronGate, ...] = ()
        self._readers = _readers(stack)
        none = torch.zeros(0, sum(self._widths), dtype=torch.bool)
        self._gates = tuple(NeuronGate(part) for part in none.split(self._widths, 1))
        for gate, part in zip(self._gates, self._projections.values(), strict=True):
            part.output = gate
        self.register_buffer("masks", none)
        self.register_buffer("general", torch.zeros(sum(self._widths), dtype=torch.bool))
        self.register_buffer("pairs", torch.zeros(0, 2, dtype=torch.long))
        self.register_buffer("digest", torch.zeros(32, dtype=torch.uint8))
        # the row of each pair, -1 if it has none yet
        rows = torch.full((num_languages, num_languages), -1)
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("unused", torch.zeros_like(self.general), persistent=False)
        self._with_unused: tuple[str, ...] = ()  # projections; read from the device once

    @property
    def widths(self) -> dict[str, int]:
        """The number of neurons of each projection, by name in the stack, in order."""
        return {name: width for name, width in zip(self._projections, self._widths, strict=True)}

    def take(self, masks: Tensor, general: Tensor, pairs: Tensor, digest: Tensor) -> None:
        """Use these masks from now on.

        Args:
            masks: boolean (P, W), projections concatenated in the order of :attr:`widths`.
            general: boolean (W,).
            pairs: indices from 0 of source and target language, (P, 2).
            digest: SHA-256 of the file's content, (32,) bytes.
        """
        device = self.masks.device
        self.masks, self.general = masks.bool().to(device), general.bool().to(device)
        self.pairs, self.digest = pairs.to(device), digest.to(device)
        self.rows = torch.full_like(self.rows, -1, device=device)
        self.rows[self.pairs[:, 0], self.pairs[:, 1]] = torch.arange(len(pairs), device=device)
        for gate, part in zip(self._gates, self.masks.split(self._widths, 1), strict=True):
            gate.take(part)
        self.train_only(range(len(pairs)))

    def train_only(self, pairs: Sequence[int]) -> None:
        """Announce the pairs (by row) of all later batches; :meth:`still` keeps other neurons."""
        used = self.masks[list(pairs)].any(0)
        self.unused = ~(used | self.general)
        parts = zip(self._projections, self.unused.split(self._widths), strict=True)
        self._with_unused = tuple(name for name, out in parts if out.any())

    def forward(self, sources: Tensor, targets: Tensor) -> Tensor:
        """The row (B,) of each sentence's pair in the gates, given its languages (B,) from 0."""
        rows = self.rows[sources, targets]
        new = rows < 0
        if bool(new.any()):
            pairs = torch.stack([sources, targets], 1)[new].unique(dim=0)
            for source, target in pairs.tolist():
                self._add(source, target)
            rows = self.rows[sources, targets]
        return rows

    def mask_of(self, source: int, target: int) -> Tensor:
        """The neurons that a pair uses, boolean (W,)."""
        selected = (self.pairs == self.pairs.new_tensor([source, target])).all(1)
        if not selected.any() and self.zero_shot == "union":
            selected = (self.pairs[:, 0] == source) | (self.pairs[:, 1] == target)
        return self.masks[selected].any(0) | self.general

    @contextmanager
    def still(self) -> Iterator[None]:
        """Keep the parameters of neurons that no trained pair uses during an optimizer step.

        Their gradient is zero, but weight decay would change them.
        """
        kept = [
            (parameter, where, parameter.detach().clone()) for parameter, where in self._unused()
        ]
        try:
            yield
        finally:
            with torch.no_grad():
                for parameter, where, values in kept:
                    parameter.copy_(torch.where(where, values, parameter))

    def _unused(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Parameters and the entries of each that make or read unused neurons (boolean)."""
        for name, out in zip(self._projections, self.unused.split(self._widths), strict=True):
            if name not in self._with_unused:
                continue
            part = self._projections[name]
            yield part.weight, out[:, None].expand_as(part.weight)
            yield part.bias, out.expand_as(part.bias)
            if name in self._readers:
                reader = self._projections[self._readers[name]]
                yield reader.weight, out.expand_as(reader.weight)

    def _add(self, source: int, target: int) -> None:
        """Append a row for a pair without a mask."""
        mask = self.mask_of(source, target)
        self.rows[source, target] = len(self._gates[0].masks)
        for gate, part in zip(self._gates, mask.split(self._widths), strict=True):
            gate.extend(part)


def _readers(stack: nn.Module) -> dict[str, str]:
    """For a projection, the only other projection that reads its outputs, input by input."""
    readers = {}
    for name, part in stack.named_modules():
        if isinstance(part, MultiheadAttention):
            readers[f"{name}.value"] = f"{name}.out"
        elif isinstance(part, FeedForward):
            readers[f"{name}.inner"] = f"{name}.outer"
    return readers
