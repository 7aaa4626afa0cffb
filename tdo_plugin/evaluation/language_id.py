"""Which language a sentence is in: a classifier trained on the corpus, or fastText's lid.176."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import join_pieces

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
    """Naive Bayes over character 1- to 4-grams, all languages equally likely beforehand."""

    def __init__(self, text: dict[str, list[str]], held_out: dict[str, list[str]]) -> None:
        """Train on lines by language; `held_out` gives the accuracy in the signature.

        Raises:
            UserError: scikit-learn is missing, or fewer than two languages.
        """
        try:
            import sklearn
            from sklearn.feature_extraction.text import HashingVectorizer
            from sklearn.naive_bayes import MultinomialNB
        except ImportError:
            raise UserError(
                "`scikit-learn` must be installed to tell languages apart; it is not "
                "(pip install scikit-learn)"
            ) from None
        if len(text) < 2:
            raise UserError(f"`DATA` must hold at least two languages; it holds {len(text)}")
        self.languages = sorted(text)
        self._vectorizer = HashingVectorizer(
            analyzer="char_wb",
            ngram_range=(1, 4),
            n_features=2**18,
            alternate_sign=False,
            norm="l2",
        )
        self._model = MultinomialNB(alpha=1e-3, fit_prior=False)
        lines, labels = _flatten(text)
        self._model.fit(self._vectorizer.transform(lines), labels)
        lines, labels = _flatten(held_out)
        found = self.identify(lines)
        self.accuracy = sum(a == b for a, b in zip(found, labels, strict=True)) / len(labels)
        self.signature = (
            f"char-ngrams:1-4|model:multinomial-nb|languages:{','.join(self.languages)}"
            f"|training-lines:{sum(map(len, text.values()))}"
            f"|held-out-accuracy:{100 * self.accuracy:.1f}%|scikit-learn:{sklearn.__version__}"
        )

    def label(self, language: str) -> str | None:
        """The language itself if the classifier was trained on it."""
        return language if language in self.languages else None

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """The likeliest language of each sentence; UNDETECTABLE for one without a letter."""
        if not sentences:
            return []
        found = self._model.predict(self._vectorizer.transform(sentences))
        return [
            str(code) if any(map(str.isalpha, sentence)) else UNDETECTABLE
            for code, sentence in zip(found, sentences, strict=True)
        ]


def _flatten(text: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    pairs = [(line, language) for language, lines in sorted(text.items()) for line in lines]
    return [line for line, _ in pairs], [language for _, language in pairs]


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
        except ValueError as error:
            raise UserError(f"`--lid` must be a fastText model; {path}: {error}") from None
        labels = getattr(self._model, "get_labels", None) or self._model.labels
        known = labels() if callable(labels) else labels
        self._known = {label.removeprefix("__label__") for label in known}
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
