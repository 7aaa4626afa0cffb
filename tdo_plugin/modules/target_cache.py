"""Keys and values between decoding steps, stored side by side for all rows of a sentence.

Shapes: B sentences, K rows (beams) of a sentence, R = B * K, H heads, E head width, S source,
T new target positions, P target positions so far, L = S + P * K.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.masks import TargetMask
from tdo_plugin.modules.target_store import TargetStore

GROWTH = 16  # positions added to a full buffer


class TargetCache(TargetStore):
    """One buffer (layers, 2, B, H, L and more, E): the source, then K rows for each position.

    A mask lets each row see only what its own ancestors wrote. So a search that permutes the rows
    of a sentence moves no keys and values, and the rows of a sentence are queries of a single
    attention.
    """

    def __init__(self, num_layers: int, beams: int = 1) -> None:
        super().__init__(num_layers, beams)
        self._start = 0
        self._source = 0  # S
        self._buffer: Tensor | None = None
        self._writer: Tensor | None = None  # (B, K, P): which of K rows wrote a row's positions

    def begin(self, mask: TargetMask) -> TargetMask:
        """As :meth:`TargetStore.begin`; returns a mask of the sentences.

        Its target part is (B, 1, K * T, P * K), or (B, 1, T, P * K).
        """
        new, self.length = mask.target.shape[2:]
        self._start = self.length - new
        sentences, beams = mask.source.size(0), self._beams
        row_numbers = torch.arange(beams, device=mask.source.device)
        written = row_numbers[:, None].expand(sentences, beams, new)
        self._writer = written if self._writer is None else torch.cat([self._writer, written], 2)
        visible = mask.target.view(sentences, -1, new, self.length, 1)  # (B, K or 1, T, P, 1)
        ancestors = self._writer[:, :, None, :, None] == row_numbers  # (B, K, 1, P, K)
        visible = visible & ancestors[:, : visible.size(1)]
        return TargetMask(mask.source, visible.flatten(3).flatten(1, 2)[:, None], mask.padding)

    def extend(
        self, layer: int, new: KeyValue, memories: Sequence[KeyValue] | None = None
    ) -> KeyValue:
        """As :meth:`TargetStore.extend`; returns (B, H, L, E)."""
        if self._buffer is None and memories is not None:
            self._source = memories[layer].key.size(2)
        buffer = self._room(new.key)[layer]
        if self._start == 0 and memories is not None:
            for kind, part in enumerate(memories[layer]):
                buffer[kind, :, :, : self._source] = part
        begin, end = self._end(self._start), self._end(self.length)
        for kind, part in enumerate(new):
            rows = part.view(buffer.size(1), -1, *part.shape[1:]).expand(
                -1, self._beams, -1, -1, -1
            )
            rows = rows.permute(0, 2, 3, 1, 4).flatten(2, 3)
            buffer[kind].narrow(2, begin, end - begin).copy_(rows)
        return KeyValue(*buffer.narrow(3, 0, end).unbind())

    def reorder(self, rows: Tensor) -> None:
        if self._buffer is None or self._writer is None:
            return
        writer = self._writer.flatten(0, 1).index_select(0, rows)
        self._writer = writer.unflatten(0, (-1, self._beams))
        sentences = rows[:: self._beams].div(self._beams, rounding_mode="floor")
        present = self._buffer.size(2)
        if self._beams > 1:
            unmoved = len(sentences) == present
        else:
            same = len(rows) == present
            unmoved = same and torch.equal(rows, torch.arange(present, device=rows.device))
        if not unmoved:
            self._select(self._buffer, sentences)

    def _select(self, buffer: Tensor, sentences: Tensor) -> None:
        """Keep some sentences; copies only the filled part of the buffer."""
        filled = self._end(self.length)
        shape = [*buffer.shape]
        shape[2] = len(sentences)
        self._buffer = buffer.new_empty(shape)
        kept = self._buffer[:, :, :, :, :filled]
        torch.index_select(buffer[:, :, :, :, :filled], 2, sentences, out=kept)

    def _end(self, positions: int) -> int:
        """The end of the first ``positions`` positions in the buffer."""
        return self._source + positions * self._beams

    def _room(self, like: Tensor) -> Tensor:
        """The buffer, enlarged if the announced positions do not fit."""
        assert self._writer is not None
        if self._buffer is None or self._buffer.size(4) < self._end(self.length):
            _, heads, _, width = like.shape
            capacity = self._end(-(-self.length // GROWTH) * GROWTH)
            sentences = self._writer.size(0)
            grown = like.new_empty(self._num_layers, 2, sentences, heads, capacity, width)
            if self._buffer is not None:
                filled = self._end(self._start)
                grown[:, :, :, :, :filled] = self._buffer[:, :, :, :, :filled]
            self._buffer = grown
        return self._buffer
