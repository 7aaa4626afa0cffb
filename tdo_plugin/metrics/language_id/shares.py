"""How many hypotheses are in the target language, and what the others are in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tdo_plugin.metrics.language_id.codes import canonical, confusable
from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE, Identifier

CATEGORIES = ("target", "english", "source", "other", "undetectable")


@dataclass(frozen=True)
class Shares:
    """Languages of one direction's hypotheses.

    Attributes:
        shares: percent in each of `CATEGORIES`; they sum to 100.
        languages: how many were identified as what, the most frequent first.
        confused: percent in a language that is easily taken for the target's; part of `other`.
    """

    shares: dict[str, float]
    languages: dict[str, int]
    confused: float

    @property
    def off(self) -> float:
        """The off-target ratio in percent: all that is not in the target language."""
        return 100 - self.shares["target"]


def shares(
    identified: Sequence[str], source: str, target: str, identifier: Identifier, english: str = "en"
) -> Shares | None:
    """Sort what a detector found into target, English, source, another language, undetectable.

    Each hypothesis counts once, for the first of these that it is. So English is in `target` when
    translating into it (`english` is 0) and in `english` when translating from it (`source` is 0).
    Where the detector does not know the source, hypotheses in it are in `other`.

    Args:
        identified: what `identifier.identify` said of each hypothesis; at least one.
        source: of the direction, as the corpus calls it.
        target: likewise.
        identifier: the detector, for its names of the languages.
        english: the corpus' name of English.

    Returns:
        The shares, or None where the detector does not know the target: the ratio is not defined.
    """
    target_label = identifier.label(target)
    if target_label is None:
        return None
    category = {UNDETECTABLE: "undetectable", target_label: "target"}
    for name, language in (("english", english), ("source", source)):
        label = identifier.label(language)
        if label is not None:
            category.setdefault(label, name)
    counts = Counter(category.get(label, "other") for label in identified)
    near = confusable(target_label)
    confused = sum(label not in category and canonical(label) in near for label in identified)
    languages = sorted(Counter(identified).items(), key=lambda item: (-item[1], item[0]))
    return Shares(
        shares={name: 100 * counts[name] / len(identified) for name in CATEGORIES},
        languages=dict(languages),
        confused=100 * confused / len(identified),
    )
