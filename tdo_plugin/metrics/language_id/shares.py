"""Shares of hypotheses in the target language and in other languages."""

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
        shares: percentage in each of `CATEGORIES`; they sum to 100.
        languages: number of hypotheses by identified language, most frequent first.
        confused: percentage in a language easily confused with the target; part of `other`.
    """

    shares: dict[str, float]
    languages: dict[str, int]
    confused: float

    @property
    def off(self) -> float:
        """The off-target rate in percent: all hypotheses not in the target language."""
        return 100 - self.shares["target"]


def shares(
    identified: Sequence[str], source: str, target: str, identifier: Identifier, english: str = "en"
) -> Shares | None:
    """Classify identified languages as target, English, source, other, or undetectable.

    Each hypothesis counts once, for the first category that applies. So English is in `target` when
    translating into English (`english` is 0) and in `english` when translating from it (`source` is
    0). If the detector does not support the source, hypotheses in the source language are in
    `other`.

    Args:
        identified: the result of `identifier.identify` for each hypothesis; at least one.
        source: the source language's code in the corpus.
        target: the target language's code in the corpus.
        identifier: the detector, for its labels.
        english: the code of English in the corpus.

    Returns:
        The shares, or None if the detector does not support the target, so they are undefined.
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
