"""Which language a sentence is in: a classifier trained on the corpus, or fastText's lid.176."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import join_pieces

LONGEST = 4  # characters of an n-gram
BUCKET_BITS = 18
BUCKETS = 1 << BUCKET_BITS
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: spreads the hash
SMOOTHING = 0.1  # added to each bucket's count
CHUNK = 2_000  # sentences in memory at once
MAX_LINES = 10_000  # training lines a language
HELD_OUT = 1_000  # validation lines a language
UNDETECTABLE = "?"
OTHER_NAMES = {"nb": "no"}  # codes that lid.176 knows by another name


class Identifier(Protocol):
    """Names the language of each sentence."""

    signature: str

    def label(self, language: str) -> str | None:
        """The identifier's name for a language; None where it cannot recognise it."""

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """One code a sentence; UNDETECTABLE where there is nothing to go by."""


class CharacterNgrams:
    """Naive Bayes over hashed character 1- to 4-grams, all languages equally likely beforehand."""

    def __init__(self, text: dict[str, list[str]], held_out: dict[str, list[str]]) -> None:
        """Train on lines by language; `held_out` gives the accuracy in the signature.

        Raises:
            UserError: fewer than two languages, or one without text.
        """
        empty = [language for language in text if not text[language] or not held_out[language]]
        if len(text) < 2 or empty:
            raise UserError(
                "`DATA` must hold training and validation text of at least two languages to tell "
                f"them apart; it lacks {', '.join(empty) or 'a second one'}"
            )
        self.languages = sorted(text)
        tables = []
        for language in self.languages:
            counts = np.bincount(_ngrams(text[language])[0], minlength=BUCKETS) + SMOOTHING
            tables.append(np.log(counts / counts.sum()))
        self._log_probabilities = np.stack(tables)
        lines = [(line, language) for language, held in held_out.items() for line in held]
        found = self.identify([line for line, _ in lines])
        right = sum(a == b for a, (_, b) in zip(found, lines, strict=True))
        self.accuracy = right / len(lines)
        self.signature = (
            f"char-ngrams:1-4|model:naive-bayes|buckets:{BUCKETS}|smoothing:{SMOOTHING}"
            f"|languages:{','.join(self.languages)}|training-lines:{sum(map(len, text.values()))}"
            f"|held-out-accuracy:{100 * self.accuracy:.1f}%"
        )

    def label(self, language: str) -> str | None:
        """The language itself if the classifier was trained on it."""
        return language if language in self.languages else None

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """The likeliest language of each sentence; UNDETECTABLE for one without a letter."""
        result: list[str] = []
        for start in range(0, len(sentences), CHUNK):
            chunk = sentences[start : start + CHUNK]
            buckets, rows = _ngrams(chunk)
            scores = [
                np.bincount(rows, weights=table[buckets], minlength=len(chunk))
                for table in self._log_probabilities
            ]
            for sentence, best in zip(chunk, np.argmax(scores, axis=0), strict=True):
                letters = any(map(str.isalpha, sentence))
                result.append(self.languages[best] if letters else UNDETECTABLE)
        return result


def _ngrams(sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Every character n-gram of every sentence: its bucket and the sentence's number."""
    # a space on either side, so that the beginnings and endings of words are n-grams too
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
    """Train the classifier on the folder's own training text, and test it on its validation text.

    A language's lines are taken evenly from all pairs that it is in.
    """
    text = {language: _side(data, "train", language, MAX_LINES) for language in data.languages}
    held_out = {language: _side(data, "valid", language, HELD_OUT) for language in data.languages}
    return CharacterNgrams(text, held_out)


def _side(data: DataFolder, split: str, language: str, limit: int) -> list[str]:
    files = sorted((data.root / "pieces").glob(f"{split}.*-*.{language}"))
    share = -(-limit // max(1, len(files)))
    lines: Iterable[str] = (line for path in files for line in islice(read_lines(path), share))
    return [join_pieces(line) for line in lines]


class FastText:
    """fastText's lid.176 (or another of its models), from a file that the user has."""

    def __init__(self, path: Path) -> None:
        """Load the model.

        Raises:
            UserError: no such file, no `fasttext` module, or a file that it cannot read.
        """
        if not path.is_file():
            raise UserError(f"`--lid` must be a fastText model such as lid.176.bin; {path} is none")
        try:
            import fasttext
        except ImportError:
            raise UserError(
                "`--lid` must be left out unless the module fasttext is installed "
                "(pip install fasttext-predict); it is not"
            ) from None
        try:
            self._model: Any = fasttext.load_model(str(path))
            # all of them, likely or not: fasttext-predict has no other list of its labels
            labels, _ = self._model.predict("a", k=-1, threshold=-1.0)
        except ValueError as error:  # of a bad file, or of the package fasttext with numpy 2
            raise UserError(
                f"`--lid` must be a fastText model that fasttext-predict reads; {path}: {error}"
            ) from None
        self._known = {label.removeprefix("__label__") for label in labels}
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        self.signature = f"fasttext:{path.name}|sha256:{digest[:16]}"

    def label(self, language: str) -> str | None:
        """The model's label: `nb` counts as `no`, `zh_CN` as `zh`."""
        code = language.split("_")[0].lower()
        code = OTHER_NAMES.get(code, code)
        return code if code in self._known else None

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """The likeliest label of each sentence; UNDETECTABLE for one without a letter."""
        return [self._one(sentence) for sentence in sentences]

    def _one(self, sentence: str) -> str:
        if not any(map(str.isalpha, sentence)):
            return UNDETECTABLE
        labels, _ = self._model.predict(sentence.replace("\n", " "))
        return str(labels[0]).removeprefix("__label__")
