"""Keys and values of the target so far, kept between steps of incremental decoding.

Shapes: R rows (beams of all sentences), H heads, P positions so far, E head width.
"""

from torch import Tensor

from tdo_plugin.modules.attention import KeyValue

GROWTH = 8  # positions added to a full buffer; a reorder copies the room not used yet, too


class TargetCache:
    """One buffer (layers, 2, R, H, capacity, E), so that a reorder is one indexing.

    A step first calls :meth:`begin`, then each layer :meth:`extend` in turn.
    """

    def __init__(self, num_layers: int) -> None:
        self.num_layers = num_layers
        self.length = 0  # P, with the positions of the present step
        self._start = 0
        self._buffer: Tensor | None = None

    def begin(self, new: int) -> None:
        """Announce the number of new positions of a step, T."""
        self._start = self.length
        self.length += new

    def extend(self, layer: int, new: KeyValue) -> KeyValue:
        """Append one layer's keys and values (R, H, T, E); returns all, (R, H, P, E)."""
        buffer = self._room(new.key)
        for kind, part in enumerate(new):
            buffer[layer, kind, :, :, self._start : self.length] = part
        return KeyValue(*buffer[layer, :, :, :, : self.length])

    def reorder(self, rows: Tensor) -> None:
        """Keep these of the present rows, in this order (R',)."""
        if self._buffer is not None:
            self._buffer = self._buffer.index_select(2, rows)

    def _room(self, like: Tensor) -> Tensor:
        """The buffer, grown where the announced positions do not fit."""
        if self._buffer is None or self._buffer.size(4) < self.length:
            rows, heads, _, width = like.shape
            capacity = -(-self.length // GROWTH) * GROWTH
            grown = like.new_empty(self.num_layers, 2, rows, heads, capacity, width)
            if self._buffer is not None:
                grown[:, :, :, :, : self._start] = self._buffer[:, :, :, :, : self._start]
            self._buffer = grown
        return self._buffer
