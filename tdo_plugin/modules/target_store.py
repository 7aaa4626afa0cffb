"""The state of the target between decoding steps.

Shapes: B sentences, K rows (beams) of a sentence, R = B * K, H heads, E head width, D model width,
S source, T new target positions, P target positions so far.
"""

from collections.abc import Sequence

from torch import Tensor

from tdo_plugin.modules.attention import KeyValue
from tdo_plugin.modules.masks import TargetMask


class TargetStore:
    """What layers keep of earlier target positions; the layers choose the class.

    A step first calls :meth:`begin`, then each layer in turn :meth:`extend` or :meth:`mean`; a
    search calls :meth:`reorder` between steps. While the rows of a sentence are identical, one of
    them may stand for all.

    Args:
        num_layers: of the target.
        beams: K.
    """

    def __init__(self, num_layers: int, beams: int = 1) -> None:
        self.length = 0  # P, including the positions of the current step
        self._num_layers, self._beams = num_layers, beams

    def begin(self, mask: TargetMask) -> TargetMask:
        """Announce the new positions of a step.

        Args:
            mask: of the rows, its target part (R, 1, T, P), or (B, 1, T, P) if one row stands for
                all rows of a sentence.

        Returns:
            The mask for the layers.
        """
        raise TypeError(f"{type(self).__name__} keeps nothing; use a subclass")

    def extend(
        self, layer: int, new: KeyValue, memories: Sequence[KeyValue] | None = None
    ) -> KeyValue:
        """Append one layer's keys and values.

        Args:
            layer: from 0.
            new: for the rows' new positions, (R or B, H, T, E).
            memories: the source's keys and values (B, H, S, E) for each layer, stored before the
                target's; read only in the first step.

        Returns:
            All keys and values, without the source's if ``memories`` is None.
        """
        raise TypeError(f"{type(self).__name__} keeps no keys and values; use a subclass")

    def mean(self, layer: int, new: Tensor) -> Tensor:
        """For each new position, the mean over it and the earlier tokens.

        Args:
            layer: from 0.
            new: for the rows' new positions, (R or B, T, D).
        """
        raise TypeError(f"{type(self).__name__} keeps no sums; use a subclass")

    def reorder(self, rows: Tensor) -> None:
        """Keep these of the present rows, in this order (R').

        With more than one row per sentence, the K new rows of a sentence come from a single
        present sentence, and either all sentences are kept, or some in their order.
        """
        raise TypeError(f"{type(self).__name__} keeps nothing; use a subclass")
