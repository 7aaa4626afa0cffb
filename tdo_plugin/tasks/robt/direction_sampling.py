"""Samples the sentences to back-translate and their languages (Algorithm 1, line 6)."""

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
    """The language that each sentence is translated into; None: it is not translated.

    A sentence's random draws depend on neither ``share`` nor ``listed_targets``, which only discard
    some of them.

    Args:
        key: seed of all draws.
        targets: each sentence's target language, which is never drawn for it.
        languages: to draw from uniformly, at least two.
        share: expected share of sentences that are translated.
        listed_targets: whether only targets in one of ``languages`` are translated.
    """
    random = np.random.default_rng([number % 2**32 for number in key])
    chosen = random.random(len(targets)) < share
    if listed_targets:
        chosen &= np.isin(targets, languages)
    candidates = [[language for language in languages if language != target] for target in targets]
    places = random.integers(0, [len(allowed) for allowed in candidates])
    drawn = zip(candidates, places.tolist(), chosen.tolist(), strict=True)
    return [allowed[place] if taken else None for allowed, place, taken in drawn]
