"""Whether source states are closer to the source or the target language, by layer.

Shapes: N sentences, D model width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from tdo_plugin.analysis.preference.similarity import Form
from tdo_plugin.errors import UserError

# given languages of sentences and tag: pooled states (N, D) by layer; rows are parallel sentences
Read = Callable[[str, str], Mapping[int, Tensor]]


class Preference(NamedTuple):
    """Means over sentences for a layer, similarity form and pair.

    Attributes:
        layer: from 1.
        form: of similarity.
        pair: such as `de-fr`.
        rho_source: similarity to the source with the source language's tag.
        rho_target: similarity to the target sentence with the same tag.
        score: s of equation 11; above 0.5 means the target language.
    """

    layer: int
    form: str
    pair: str
    rho_source: float
    rho_target: float
    score: float


@dataclass(frozen=True)
class Measured:
    """The linguistic preference of a model's states.

    Attributes:
        preferences: for every layer, form and pair.
        chance: approximate similarity of unrelated states; the maximum over forms.
    """

    preferences: tuple[Preference, ...]
    chance: float


def measure(read: Read, pairs: Sequence[str], forms: Mapping[str, Form]) -> Measured:
    """Measure linguistic preference (Qu et al., equations 10 and 11).

    Every language with its own tag, and every pair, is read once. Memory holds the former in each
    form for all layers, and one pair.

    Args:
        read: returns a model's states for a language's sentences with a tag.
        pairs: such as `de-fr`.
        forms: of similarity, by name.

    Raises:
        UserError: there are so few sentences that any two sets are equal.
    """
    sides = [tuple(pair.split("-")) for pair in pairs]
    monolingual = {
        language: _prepared(read(language, language), forms)
        for language in dict.fromkeys(language for both in sides for language in both)
    }
    preferences, chance = [], 0.0
    for source, target in sides:
        pair = f"{source}-{target}"
        for (layer, name), states in _prepared(read(source, target), forms).items():
            form, ends = (
                forms[name],
                [monolingual[language][layer, name] for language in (source, target)],
            )
            chance = max(chance, *(form.chance(states, end) for end in ends))
            if chance >= 1:
                raise UserError(
                    f"`--sentences` must be larger, or `--form` must be sentence; "
                    f"{len(states)} sentences, as vectors of layer {layer}, span the whole space, "
                    "so that all canonical correlations are 1"
                )
            rho_source, rho_target = (form.similarity(states, end) for end in ends)
            scores = rho_target / (rho_target + rho_source)
            means = [float(values.mean()) for values in (rho_source, rho_target, scores)]
            preferences.append(Preference(layer, name, pair, *means))
    return Measured(tuple(preferences), chance)


def _prepared(
    states: Mapping[int, Tensor], forms: Mapping[str, Form]
) -> dict[tuple[int, str], Tensor]:
    return {
        (layer, name): form.prepare(state)
        for layer, state in states.items()
        for name, form in forms.items()
    }
