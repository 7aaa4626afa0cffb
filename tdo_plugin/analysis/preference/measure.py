"""Whether states of a source are more like its own language's or its target's, by layer.

Shapes: N sentences, D model width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from tdo_plugin.analysis.preference.similarity import Form
from tdo_plugin.errors import UserError

# of a sentence's language and a tag's, pooled states (N, D) by layer; line i says the same in all
Read = Callable[[str, str], Mapping[int, Tensor]]


class Preference(NamedTuple):
    """Of one layer, form and pair, means over sentences.

    Attributes:
        layer: from 1.
        form: of similarity.
        pair: such as `de-fr`.
        rho_source: similarity to the source with its own tag.
        rho_target: similarity to the target's sentence with the same tag.
        score: s of equation 11; above 0.5 is the target's language.
    """

    layer: int
    form: str
    pair: str
    rho_source: float
    rho_target: float
    score: float


@dataclass(frozen=True)
class Measured:
    """What a model's states prefer.

    Attributes:
        preferences: of every layer, form and pair.
        chance: about what similarity states would have, were they unrelated; the most of all forms.
    """

    preferences: tuple[Preference, ...]
    chance: float


def measure(read: Read, pairs: Sequence[str], forms: Mapping[str, Form]) -> Measured:
    """Linguistic preference (Qu et al., equations 10 and 11).

    Every language with its own tag, and every pair, is read once. In memory are the former, in
    each form, for all layers, and one pair.

    Args:
        read: what a model makes of a language's sentences with a tag.
        pairs: such as `de-fr`.
        forms: of similarity, by name.

    Raises:
        UserError: there are so few sentences that any two sets are alike.
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
                    f"`--sentences` must leave more of them, or `--form sentence` be given: "
                    f"{len(states)} sentences, as vectors of layer {layer}, fill all dimensions "
                    "that there are, so that all canonical correlations are 1"
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
