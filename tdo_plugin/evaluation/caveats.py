"""Caveats that a reader of a score sheet must know."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from tdo_plugin.evaluation.measuring import Measured
from tdo_plugin.evaluation.outputs import Texts
from tdo_plugin.evaluation.systems import SystemTexts
from tdo_plugin.metrics.language_id.codes import confusable
from tdo_plugin.metrics.sacrebleu_scores import looks_tokenized

SHARE_CHANGED = 0.02  # of references; a few have an ellipsis or a fraction in any text


def caveats(
    systems: Sequence[SystemTexts],
    directions: Sequence[str],
    measured: Mapping[tuple[str, str], Measured],
    with_languages: bool,
) -> list[str]:
    """One sentence for each caveat about the scores.

    Args:
        systems: the scored systems.
        directions: all scored directions.
        measured: measurements by system and direction.
        with_languages: whether languages were identified.
    """
    notes = []
    for system in systems:
        lacking = [direction for direction in directions if direction not in system.texts]
        if lacking:
            notes.append(f"{system.name} has no hypotheses for {', '.join(lacking)}.")
        empty = {d: sum(not h.strip() for h in t.hypotheses) for d, t in system.texts.items()}
        if any(empty.values()):
            shown = ", ".join(f"{count} of {d}" for d, count in empty.items() if count)
            notes.append(f"{system.name} has empty hypotheses: {shown}.")
    if with_languages:
        notes += _language_notes(measured)
    tokenized = dict.fromkeys(
        direction
        for system in systems
        for direction, texts in system.texts.items()
        if looks_tokenized(texts.references)
    )
    if tokenized:
        notes.append(
            f"References look tokenized, so scores are not comparable: {', '.join(tokenized)}."
        )
    notes += _other_characters(systems)
    for system in systems:
        pieces = [d for d, texts in system.texts.items() if _in_pieces(texts)]
        if pieces:
            notes.append(f"{system.name} has hypotheses that look segmented: {', '.join(pieces)}.")
    return notes


def _other_characters(systems: Sequence[SystemTexts]) -> Iterator[str]:
    """Yield a note on references with characters that the hypotheses lack for their Unicode form.

    A model whose segmentation normalizes text (NFKC) can produce neither the decomposed letters
    that are usual on macOS nor, for example, full-width digits.
    """
    for system in systems:
        lacking = {}
        for direction, texts in system.texts.items():
            count = sum(_changes(line) for line in texts.references)
            if count > SHARE_CHANGED * len(texts.references) and not any(
                map(_changes, texts.hypotheses)
            ):
                lacking[direction] = count
        if lacking:
            shown = ", ".join(f"{count} of {direction}" for direction, count in lacking.items())
            yield (
                f"References have characters that Unicode normalization (NFKC) changes, as in "
                f"decomposed letters, and hypotheses of {system.name} have none, so that their "
                f"words differ: {shown}."
            )


def _changes(line: str) -> bool:
    return not unicodedata.is_normalized("NFKC", line)


def _in_pieces(texts: Texts) -> bool:
    """Whether most hypotheses have subword marks, or are tokenized although references are not."""
    marked = sum("▁" in line or "@@ " in line for line in texts.hypotheses)
    return 2 * marked > len(texts.hypotheses) or (
        looks_tokenized(texts.hypotheses) and not looks_tokenized(texts.references)
    )


def _language_notes(measured: Mapping[tuple[str, str], Measured]) -> list[str]:
    targets = {
        direction.split("-")[1]: measurement for (_, direction), measurement in measured.items()
    }
    unknown = sorted(
        target for target, measurement in targets.items() if measurement.shares is None
    )
    notes = []
    if unknown:
        notes.append(
            f"The detector does not support these languages, which have no off-target rate: "
            f"{', '.join(unknown)}."
        )
    groups = {
        " ".join(sorted({target, *near})): None
        for target in targets
        if (near := confusable(target))
    }
    if groups:
        notes.append(f"Languages that detectors confuse: {'; '.join(groups)}.")
    return notes
