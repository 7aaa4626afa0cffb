"""Random ablation of neurons in a model with masks (Xie et al., 2021, section 5.4).

Shapes: P pairs, W all neurons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from tdo_plugin.errors import UserError


@dataclass(frozen=True)
class Ablation:
    """The neurons to ablate.

    Attributes:
        general: share of the general neurons.
        specific: share of the pair's specific neurons (used by it, but not general).
        pair: indices of source and target language; None if `specific` is 0.
        seed: of the random choice.
    """

    general: float = 0.0
    specific: float = 0.0
    pair: tuple[int, int] | None = None
    seed: int = 1

    def chosen(self, masks: Tensor, general: Tensor, pairs: Tensor) -> Tensor:
        """The neurons (W,) to ablate, the number of each kind rounded.

        Args:
            masks: boolean (P, W).
            general: boolean (W,).
            pairs: (P, 2).

        Raises:
            UserError: there is no mask for the pair, or no neuron would be ablated.
        """
        draws = torch.Generator().manual_seed(self.seed)
        gone = _drawn(general, self.general, draws)
        if self.pair is not None:
            matching = (pairs == torch.tensor(self.pair)).all(1)
            if not matching.any():
                raise UserError("`--pair` must be a pair that the model has a mask for; it is not")
            gone |= _drawn(masks[matching][0] & ~general, self.specific, draws)
        if not gone.any():
            raise UserError("`--general` or `--specific` must ablate a neuron; they ablate none")
        return gone


def ablated(stored: Mapping[str, Tensor], ablation: Ablation) -> tuple[dict[str, Tensor], int]:
    """A checkpoint's masks with some neurons set to zero for every pair, and their number.

    Args:
        stored: ``masks``, ``general``, ``pairs`` and ``digest`` of the checkpoint.
        ablation: the neurons to ablate.
    """
    gone = ablation.chosen(stored["masks"].bool(), stored["general"].bool(), stored["pairs"])
    masks, general = stored["masks"] & ~gone, stored["general"] & ~gone
    digest = hashlib.sha256(bytes(stored["digest"].tolist()) + bytes(gone.tolist())).digest()
    changed = {"masks": masks, "general": general, "digest": torch.tensor(list(digest)).byte()}
    return {**stored, **changed}, int(gone.sum())


def _drawn(among: Tensor, share: float, draws: torch.Generator) -> Tensor:
    """A random share of the true entries (W,)."""
    places = among.nonzero()[:, 0]
    order = torch.randperm(len(places), generator=draws)
    gone = torch.zeros_like(among)
    gone[places[order[: round(share * len(places))]]] = True
    return gone
