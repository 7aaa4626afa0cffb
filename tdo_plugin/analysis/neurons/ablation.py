"""Ablation neurons of a model with masks at random (Xie et al., 2021, section 5.4).

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
    """What is ablated.

    Attributes:
        general: share of the general neurons.
        specific: share of the neurons that the pair uses and not all share.
        pair: index of its source and target language; None where `specific` is 0.
        seed: of the draw.
    """

    general: float = 0.0
    specific: float = 0.0
    pair: tuple[int, int] | None = None
    seed: int = 1

    def chosen(self, masks: Tensor, general: Tensor, pairs: Tensor) -> Tensor:
        """Which neurons (W,) go, each kind's number rounded.

        Args:
            masks: boolean (P, W).
            general: boolean (W,).
            pairs: (P, 2).

        Raises:
            UserError: the masks know no such pair, or nothing would go.
        """
        draws = torch.Generator().manual_seed(self.seed)
        gone = _drawn(general, self.general, draws)
        if self.pair is not None:
            matching = (pairs == torch.tensor(self.pair)).all(1)
            if not matching.any():
                raise UserError("`--pair` must be one that the model's masks know; it is none")
            gone |= _drawn(masks[matching][0] & ~general, self.specific, draws)
        if not gone.any():
            raise UserError("`--general` or `--specific` must ablate a neuron; they ablate none")
        return gone


def ablated(stored: Mapping[str, Tensor], ablation: Ablation) -> tuple[dict[str, Tensor], int]:
    """The masks of a checkpoint with some neurons zero for every pair, and how many these are.

    Args:
        stored: ``masks``, ``general``, ``pairs`` and ``digest`` of the checkpoint.
        ablation: what goes.
    """
    gone = ablation.chosen(stored["masks"].bool(), stored["general"].bool(), stored["pairs"])
    masks, general = stored["masks"] & ~gone, stored["general"] & ~gone
    digest = hashlib.sha256(bytes(stored["digest"].tolist()) + bytes(gone.tolist())).digest()
    changed = {"masks": masks, "general": general, "digest": torch.tensor(list(digest)).byte()}
    return {**stored, **changed}, int(gone.sum())


def _drawn(among: Tensor, share: float, draws: torch.Generator) -> Tensor:
    """A share of the true entries (W,)."""
    places = among.nonzero()[:, 0]
    order = torch.randperm(len(places), generator=draws)
    gone = torch.zeros_like(among)
    gone[places[order[: round(share * len(places))]]] = True
    return gone
