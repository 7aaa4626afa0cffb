"""What the outputs of projections pass: a named point, or a gate for each pair of languages.

Shapes: B sentences, P pairs, W neurons of a projection, (...) positions.
"""

import torch
from torch import Tensor, nn

from tdo_plugin.modules.languages import Languages


class NeuronOutput(nn.Module):
    """An identity that the outputs of a projection pass, for hooks on single neurons."""

    def forward(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """(..., W) as they are; languages make no difference."""
        return x


class NeuronGate(NeuronOutput):
    """Neurons outside a sentence's mask are zero, and so are their gradients (Xie et al., 2021).

    Args:
        masks: boolean (P, W), true where a row's pair uses a neuron.
    """

    masks: Tensor

    def __init__(self, masks: Tensor) -> None:
        super().__init__()
        # the model has the masks of all gates in one piece, which is what checkpoints keep
        self.register_buffer("masks", masks, persistent=False)

    def forward(self, x: Tensor, languages: Languages | None = None) -> Tensor:
        """(..., W) to (..., W), given the row of each position, broadcastable to (...).

        Raises:
            ValueError: the rows are not given.
        """
        if languages is None or languages.neurons is None:
            raise ValueError("masks of neurons need the languages of every sentence")
        return x * self.masks[languages.neurons].to(x.dtype)

    def extend(self, mask: Tensor) -> None:
        """One row (W,) more."""
        self.masks = torch.cat([self.masks, mask[None].to(self.masks)])
