"""Detect sentences in the wrong language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tdo_plugin.metrics.language_id.choosing import identifier
from tdo_plugin.metrics.language_id.codes import confusable
from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE
from tdo_plugin.start.split_writer import WrongLanguage


def language_filter(
    spec: str, languages: Iterable[str], say: Callable[[str], None]
) -> WrongLanguage:
    """Return a filter that uses a language detector.

    A sentence passes if the detector returns its language, a language easily confused with it, or
    no language, and if the detector does not know the expected language.

    Args:
        spec: `fasttext`, `langdetect`, or the path of a fastText model.
        languages: the languages of the text.
        say: called with a message for each language that the detector does not know.

    Raises:
        UserError: there is no such detector, or its package or model is missing.
    """
    detector = identifier(spec)
    accepted: dict[str, frozenset[str]] = {}
    for language in languages:
        label = detector.label(language)
        if label is None:
            say(f"{language} is not filtered: {spec} does not know it")
        else:
            accepted[language] = confusable(language) | {label, UNDETECTABLE}

    def wrong_language(sentences: Sequence[str], language: str) -> list[bool]:
        if language not in accepted:
            return [False] * len(sentences)
        return [code not in accepted[language] for code in detector.identify(sentences)]

    return wrong_language
