"""Truecasing as in Moses: a sentence's first word is cased as within sentences.

Rules and model files are those of `train-truecaser.perl` and `truecase.perl`. sacremoses'
truecaser is not used: it keeps all training text in memory, writes counts that change the model
when it is read back, and replaces the casing of words within a sentence by the model's.

A line of the model has a word's most frequent form and the other forms with their counts:

    the (902/1000) The (88) THE (10)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import regex

from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import write_text

ENDS = frozenset(".:?!")  # sentence ends
OPENINGS = frozenset(("(", "[", '"', "'", "&apos;", "&quot;", "&#91;", "&#93;"))
CASED = regex.compile(r"[\p{Ll}\p{Lu}\p{Lt}]")


def train_truecaser(paths: Iterable[Path], model: Path) -> None:
    """Count the casings of words within sentences.

    Memory is proportional to the number of word forms. Among equally frequent forms, the lowercase
    form is chosen, while Perl chooses any.

    Args:
        paths: tokenized training text of one language, line by line.
        model: the file to write atomically.

    Raises:
        UserError: text that is not UTF-8.
    """
    counts: Counter[str] = Counter()
    for path in paths:
        for line in read_lines(path):
            counts.update(_within_sentences(line.split()))
    forms = defaultdict(list)
    for form in filter(CASED.search, counts):
        forms[form.lower()].append(form)
    write_text(model, (_entry(forms[word], counts) for word in sorted(forms)))


def truecase(lines: Iterable[str], model: Path) -> list[str]:
    """Truecase tokenized text; tokens are separated by one space.

    Raises:
        UserError: the model does not exist.
    """
    if not model.is_file():
        raise UserError(f"`{model}` must be a truecasing model; it does not exist")
    best, forms = _read(model, model.stat().st_mtime_ns)
    return [" ".join(_truecased(line.split(), best, forms)) for line in lines]


def _within_sentences(words: Sequence[str]) -> Iterator[str]:
    """The words that do not begin a sentence."""
    start = next((i for i, word in enumerate(words) if word not in OPENINGS), len(words))
    for before, word in pairwise(words[start:]):
        if before not in ENDS:
            yield word


def _entry(forms: Iterable[str], counts: Counter[str]) -> str:
    best, *others = sorted(forms, key=lambda form: (counts[form], form), reverse=True)
    total = counts[best] + sum(counts[form] for form in others)
    return " ".join(
        [f"{best} ({counts[best]}/{total})", *(f"{form} ({counts[form]})" for form in others)]
    )


@lru_cache(maxsize=128)
def _read(model: Path, _changed: int) -> tuple[dict[str, str], frozenset[str]]:
    entries = [line.split()[::2] for line in read_lines(model)]
    best = {forms[0].lower(): forms[0] for forms in entries if forms}
    return best, frozenset(form for forms in entries for form in forms)


def _truecased(words: Iterable[str], best: dict[str, str], forms: frozenset[str]) -> Iterator[str]:
    begins = True
    for word in words:
        kept = not begins and word in forms
        yield word if kept else best.get(word.lower(), word)
        if word in ENDS:
            begins = True
        elif word not in OPENINGS:
            begins = False
