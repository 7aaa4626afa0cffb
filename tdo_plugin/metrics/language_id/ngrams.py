"""A language classifier trained on available text, without any download."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import canonical
from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE, has_letters
from tdo_plugin.metrics.textform import plain_lines

LONGEST = 4  # maximum characters of an n-gram
BUCKET_BITS = 18
BUCKETS = 1 << BUCKET_BITS
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: spreads the hash
SMOOTHING = 0.1  # added to each bucket's count
CHUNK = 2_000  # sentences in memory at once
MAX_LINES = 10_000  # training lines per language
HELD_OUT = 1_000  # validation lines per language

Text = Mapping[str, Sequence[str]]  # lines by language


class CharacterNgrams:
    """Naive Bayes over hashed character 1- to 4-grams, with a uniform prior over languages.

    Attributes:
        accuracy: accuracy on held-out sentences, 0 to 1; part of the signature.
    """

    def __init__(self, text: Text, origin: str = "") -> None:
        """Train on lines by language; `origin` names the text in the signature."""
        self.languages = sorted(text)
        self.accuracy = math.nan
        self._origin = origin
        self._lines = sum(map(len, text.values()))
        tables = []
        for language in self.languages:
            counts = np.bincount(_ngrams(text[language])[0], minlength=BUCKETS) + SMOOTHING
            tables.append(np.log(counts / counts.sum()))
        self._log_probabilities = np.stack(tables)

    @property
    def signature(self) -> str:
        """Settings, languages, training text and accuracy."""
        return (
            f"char-ngrams:1-4|model:naive-bayes|buckets:{BUCKETS}|smoothing:{SMOOTHING}"
            f"|languages:{','.join(self.languages)}|training-lines:{self._lines}{self._origin}"
            f"|held-out-accuracy:{100 * self.accuracy:.1f}%"
        )

    def label(self, language: str) -> str | None:
        """The language's code in the training text (`en_XX` for `en`); None if it has none."""
        if language in self.languages:
            return language
        code = canonical(language)
        return next(
            (candidate for candidate in self.languages if canonical(candidate) == code), None
        )

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """The most likely language of each sentence; UNDETECTABLE without letters."""
        result: list[str] = []
        for start in range(0, len(sentences), CHUNK):
            chunk = sentences[start : start + CHUNK]
            best_of_each = np.argmax(self._log_likelihoods(chunk), axis=0)
            for sentence, best in zip(chunk, best_of_each, strict=True):
                result.append(self.languages[best] if has_letters(sentence) else UNDETECTABLE)
        return result

    def probabilities(self, sentence: str) -> dict[str, float]:
        """The posterior probability of each language; empty without letters."""
        if not has_letters(sentence):
            return {}
        scores = self._log_likelihoods([sentence])[:, 0]
        shares = np.exp(scores - scores.max())
        return dict(zip(self.languages, (shares / shares.sum()).tolist(), strict=True))

    def _log_likelihoods(self, sentences: Sequence[str]) -> np.ndarray:
        """Of each sentence in each language (languages, sentences)."""
        buckets, rows = _ngrams(sentences)
        return np.stack(
            [
                np.bincount(rows, weights=table[buckets], minlength=len(sentences))
                for table in self._log_probabilities
            ]
        )

    def right(self, text: Text) -> float:
        """The share of lines, 0 to 1, that are identified correctly."""
        lines = [(line, language) for language, held in text.items() for line in held]
        identified = self.identify([line for line, _ in lines])
        return sum(a == b for a, (_, b) in zip(identified, lines, strict=True)) / len(lines)


def _ngrams(sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Every character n-gram of every sentence: its bucket and the sentence's index."""
    # spaces around each sentence, so that beginnings and ends of words are n-grams too
    text = "".join(f" {' '.join(sentence.split())} \n" for sentence in sentences)
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    breaks = codes == ord("\n")
    number = np.cumsum(breaks) - breaks
    buckets, rows = [], []
    mixed = np.zeros_like(codes)
    inside = np.ones_like(breaks)
    for length in range(1, LONGEST + 1):
        end = len(codes) - length + 1
        mixed = (mixed[:end] + codes[length - 1 :] + np.uint64(length)) * MULTIPLIER
        inside = inside[:end] & ~breaks[length - 1 :]
        buckets.append((mixed >> np.uint64(64 - BUCKET_BITS))[inside].astype(np.int64))
        rows.append(number[:end][inside])
    return np.concatenate(buckets), np.concatenate(rows)


def from_training_side(data: DataFolder) -> CharacterNgrams:
    """Train the classifier on the folder's training text, and test it on its validation text.

    A language's lines are taken evenly from all its pairs. The accuracy covers languages with
    validation text; it is NaN if there is none.

    Raises:
        UserError: fewer than two languages, or a language without training text.
    """
    text = {name: plain_lines(data, "train", name, MAX_LINES) for name in data.languages}
    held_out = {name: plain_lines(data, "valid", name, HELD_OUT) for name in data.languages}
    empty = [language for language in text if not text[language]]
    if len(text) < 2 or empty:
        raise UserError(
            "`DATA` must have training text in at least two languages to train a classifier; it "
            f"lacks {', '.join(empty) or 'a second language'}"
        )
    classifier = CharacterNgrams(text)
    if any(held_out.values()):
        classifier.accuracy = classifier.right(held_out)
    return classifier


def from_references(references: Text) -> CharacterNgrams:
    """Train the classifier on references by language, if there is no other text.

    It is less reliable than a classifier that has not seen the test set, as its signature states:
    it knows each hypothesis' reference, so anything that both share, such as a name, counts for the
    target. It can only identify the available languages: output in any other language is assigned
    to one of them. The accuracy is that of two further classifiers, each trained on one half of the
    lines (even, odd) and tested on the other.

    Raises:
        UserError: fewer than two languages, or a language with fewer than two different lines.
    """
    text = {language: list(dict.fromkeys(lines)) for language, lines in references.items()}
    few = [language for language, lines in text.items() if len(lines) < 2]
    if len(text) < 2 or few:
        raise UserError(
            "`--lid references` requires references in at least two languages, with two different "
            f"lines each; it lacks {', '.join(few) or 'a second language'}"
        )
    text = {language: lines[:MAX_LINES] for language, lines in text.items()}
    even = {language: lines[::2] for language, lines in text.items()}
    odd = {language: lines[1::2] for language, lines in text.items()}
    classifier = CharacterNgrams(text, "|trained-on:references-of-the-same-sentences")
    classifier.accuracy = (CharacterNgrams(even).right(odd) + CharacterNgrams(odd).right(even)) / 2
    return classifier
