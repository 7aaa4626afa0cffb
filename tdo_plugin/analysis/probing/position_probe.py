"""An MLP that predicts each token's position from its state (TPDM, section 2).

The paper only names an MLP on a frozen model. Liu et al. (2021), whom it follows, train a linear
layer or one hidden layer with ReLU by cross-entropy without smoothing; here it is one hidden layer
as wide as the states.

Shapes: N tokens, D model width, P positions.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Training:
    """How a probe is trained (ours: the paper gives no details).

    Attributes:
        updates: maximum number.
        interval: number of updates between evaluations of the held-out loss; at least an epoch.
        patience: number of evaluations without improvement after which training ends.
        held_out: share of lines that are held out.
        batch: number of tokens.
        rate: Adam's learning rate.
    """

    updates: int = 10_000
    interval: int = 100
    patience: int = 5
    held_out: float = 0.1
    batch: int = 256
    rate: float = 3e-3


class PositionProbe(nn.Module):
    """States (N, D) to scores of positions (N, P).

    States are first normalised to mean 0 and variance 1 in every dimension of the training data. A
    linear layer could do so too, so the probe is not more powerful; but one learning rate then
    suits layers of any scale.

    Args:
        states: of the training, (N, D).
        positions: P.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, states: Tensor, positions: int) -> None:
        super().__init__()
        width = states.size(1)
        self.register_buffer("mean", states.mean(0))
        self.register_buffer("deviation", states.std(0, correction=0).clamp(min=1e-6))
        self.layers = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, positions)
        ).to(states.device)

    def forward(self, states: Tensor) -> Tensor:
        scores: Tensor = self.layers((states - self.mean) / self.deviation)
        return scores

    @torch.no_grad()
    def right(self, states: Tensor, positions: Tensor, chunk: int = 8192) -> Tensor:
        """Whether the likeliest position is correct, (N,); false for positions without a class."""
        likeliest = [self(part).argmax(1).cpu() for part in states.split(chunk)]
        return torch.cat(likeliest).eq(positions)


def train_probe(
    states: Tensor,
    positions: Tensor,
    lines: Tensor,
    seed: int,
    training: Training | None = None,
) -> PositionProbe:
    """Train by cross-entropy, and return the probe with the lowest loss on held-out lines.

    A line is held out in all directions, since they may share its sentence. The global random state
    is not changed.

    Args:
        states: (N, D).
        positions: from 0, (N,).
        lines: (N,); at least two different ones.
        seed: of the held-out lines, the initialisation and the order of batches.
        training: settings; None: the defaults.
    """
    training = training or Training()
    drawn = torch.Generator().manual_seed(seed)
    held = _held_out(lines, training.held_out, drawn)
    targets = positions.to(states.device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        probe = PositionProbe(states, int(positions.max()) + 1)
    watched = held.nonzero()[:, 0].to(states.device)
    optimizer = torch.optim.Adam(probe.parameters(), lr=training.rate)
    best, kept, waited = float("inf"), copy.deepcopy(probe.state_dict()), 0
    for looked in _rounds((~held).nonzero()[:, 0], states.device, training, drawn):
        for chosen in looked:
            optimizer.zero_grad()
            F.cross_entropy(probe(states[chosen]), targets[chosen]).backward()
            optimizer.step()
        with torch.no_grad():
            loss = float(F.cross_entropy(probe(states[watched]), targets[watched]))
        waited = 0 if loss < best else waited + 1
        if not waited:
            best, kept = loss, copy.deepcopy(probe.state_dict())
        if waited == training.patience:
            break
    probe.load_state_dict(kept)
    return probe


def _rounds(
    numbers: Tensor, device: torch.device, training: Training, drawn: torch.Generator
) -> Iterator[Iterable[Tensor]]:
    """The batches between evaluations, epoch after epoch, each in a new random order."""

    def batches() -> Iterator[Tensor]:
        while True:
            order = torch.randperm(len(numbers), generator=drawn)
            yield from numbers[order].to(device).split(training.batch)

    stream = islice(batches(), training.updates)
    interval = max(training.interval, -(-len(numbers) // training.batch))
    for _ in range(-(-training.updates // interval)):
        yield islice(stream, interval)


def _held_out(lines: Tensor, share: float, drawn: torch.Generator) -> Tensor:
    """The tokens (N,) of held-out lines, of which there is at least one."""
    different = lines.unique()
    if len(different) < 2:
        raise ValueError("a probe must have at least two lines to train on")
    count = max(1, round(share * len(different)))
    chosen = different[torch.randperm(len(different), generator=drawn)[:count]]
    return torch.isin(lines, chosen)
