"""What waits of a target between the steps of decoding.

Shapes: B sentences, K rows (beams) of a sentence, R = B * K, H heads, E head width, D model width,
S source, T new target positions, P target positions so far.
"""

from collections.abc import Sequence

from torch import Tensor

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.masks import TargetMask


class TargetStore:
    """What the layers of a target need of its earlier positions; the layers choose the kind.

    A step first calls :meth:`begin`, then each layer in turn :meth:`extend` or :meth:`mean`; a
    search calls :meth:`reorder` between steps. While the rows of a sentence are all alike, one of
    them may stand for all.

    Args:
        num_layers: of the target.
        beams: K.
    """

    def __init__(self, num_layers: int, beams: int = 1) -> None:
        self.length = 0  # P, with the positions of the present step
        self._num_layers, self._beams = num_layers, beams

    def begin(self, mask: TargetMask) -> TargetMask:
        """Announce the new positions of a step.

        Args:
            mask: of the rows, its target part (R, 1, T, P), or (B, 1, T, P) where one row of each
                sentence stands for all.

        Returns:
            What the layers are to go by.
        """
        raise TypeError(f"{type(self).__name__} keeps nothing; use a subclass")

    def extend(
        self, layer: int, new: KeyValue, memories: Sequence[KeyValue] | None = None
    ) -> KeyValue:
        """Append one layer's keys and values.

        Args:
            layer: from 0.
            new: of the rows' new positions (R or B, H, T, E).
            memories: of each layer's source (B, H, S, E), to stand before the target; read in
                the first step only.

        Returns:
            All keys and values, without the source where none was given.
        """
        raise TypeError(f"{type(self).__name__} keeps no keys and values; use a subclass")

    def mean(self, layer: int, new: Tensor) -> Tensor:
        """What each new position and the real ones before it are on average.

        Args:
            layer: from 0.
            new: of the rows' new positions (R or B, T, D).
        """
        raise TypeError(f"{type(self).__name__} keeps no sums; use a subclass")

    def reorder(self, rows: Tensor) -> None:
        """Keep these of the present rows, in this order (R').

        With more than one row to a sentence, the K new rows of a sentence are rows of one
        present sentence, and either all sentences are kept or some, in their order.
        """
        raise TypeError(f"{type(self).__name__} keeps nothing; use a subclass")
