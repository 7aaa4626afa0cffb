"""What stands in a layer and touches the positions of sources alone.

Shapes: D model width, N positions of all streams, n those of their sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from tdo_plugin.modules.languages import Languages

if TYPE_CHECKING:
    from tdo_plugin.modules.layer import Stream


class SourcePart(nn.Module):
    """A part that a layer applies to source positions; targets pass it by, unchanged."""

    def source(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """Source positions, (..., D) to (..., D).

        Args:
            x: the positions.
            languages: of them, broadcastable to (...); None where nothing asks for them.
        """
        raise TypeError(f"{type(self).__name__} does nothing; use a subclass")

    def streams(
        self, x: Tensor, streams: Sequence[Stream], languages: Languages | None = None
    ) -> Tensor:
        """Streams side by side, (N, D) to (N, D).

        Args:
            x: the streams one after the other.
            streams: in this order.
            languages: of the positions, (N,); None where nothing asks for them.
        """
        sources = _source_positions(x, streams)
        if sources is None:
            return self.among(x, streams, languages)
        own = None if languages is None else languages.index_select(0, sources)
        changed = self.among(x.index_select(0, sources), streams, own)
        return x.index_copy(0, sources, changed)

    def among(self, x: Tensor, streams: Sequence[Stream], languages: Languages | None) -> Tensor:
        """The sources of all streams, one after the other, (n, D) to (n, D)."""
        return self.source(x, languages)


class Unchanged(SourcePart):
    """Nothing stands there."""

    def source(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        return x

    def streams(
        self, x: Tensor, streams: Sequence[Stream], languages: Languages | None = None
    ) -> Tensor:
        return x


class Cut(SourcePart):
    """A residual connection that carries nothing on at source positions (Liu et al., 2021)."""

    def source(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        return torch.zeros_like(x)


def _source_positions(x: Tensor, streams: Sequence[Stream]) -> Tensor | None:
    """Which rows of ``x`` (N, D) are of sources; None: all."""
    if all(one.source_length == one.shape[1] for one in streams):
        return None
    places, begin = [], 0
    for one in streams:
        rows, length = one.shape
        of_stream = torch.arange(begin, begin + rows * length, device=x.device)
        places.append(of_stream.view(rows, length)[:, : one.source_length].flatten())
        begin += rows * length
    return torch.cat(places)
