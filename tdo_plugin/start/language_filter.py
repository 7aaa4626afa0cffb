"""Which sentences are not in the language that they should be in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tdo_plugin.metrics.language_id.choosing import identifier
from tdo_plugin.metrics.language_id.codes import confusable
from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE
from tdo_plugin.start.dealing import Misfits


def language_filter(spec: str, languages: Iterable[str], say: Callable[[str], None]) -> Misfits:
    """A filter by a detector.

    A sentence passes where the detector says its language, one that is easily confused with it, or
    nothing, and where the detector does not know the language.

    Args:
        spec: `fasttext`, `langdetect`, or the file of a fastText model.
        languages: of the text.
        say: gets a line for a language that the detector does not know.

    Raises:
        UserError: no such detector, or what it needs is missing.
    """
    detector = identifier(spec)
    accepted: dict[str, frozenset[str]] = {}
    for language in languages:
        label = detector.label(language)
        if label is None:
            say(f"{language} is not filtered: {spec} does not know it")
        else:
            accepted[language] = confusable(language) | {label, UNDETECTABLE}

    def misfits(sentences: Sequence[str], language: str) -> list[bool]:
        if language not in accepted:
            return [False] * len(sentences)
        return [code not in accepted[language] for code in detector.identify(sentences)]

    return misfits
