"""Which sentences are translated back, and into which languages: line 6 of Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def draw(
    key: Sequence[int],
    targets: Sequence[int],
    languages: Sequence[int],
    share: float,
    listed_targets: bool = False,
) -> list[int | None]:
    """Of each sentence the language that it is translated into; None where it is not.

    What a sentence draws depends on neither ``share`` nor ``listed_targets``, which only leave some
    of the draws out.

    Args:
        key: of all randomness.
        targets: each sentence's own target language, which it does not get.
        languages: to draw from uniformly, at least two.
        share: of the sentences that get one, on average.
        listed_targets: whether only targets in one of ``languages`` are translated back.
    """
    random = np.random.default_rng([number % 2**32 for number in key])
    chosen = random.random(len(targets)) < share
    if listed_targets:
        chosen &= np.isin(targets, languages)
    candidates = [[language for language in languages if language != target] for target in targets]
    places = random.integers(0, [len(allowed) for allowed in candidates])
    drawn = zip(candidates, places.tolist(), chosen.tolist(), strict=True)
    return [allowed[place] if taken else None for allowed, place, taken in drawn]
