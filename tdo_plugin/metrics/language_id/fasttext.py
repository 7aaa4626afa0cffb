"""fastText models for language identification: lid.176, GlotLID, OpenLID and others."""

from __future__ import annotations

import hashlib
import mmap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import canonical, of_label
from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE, each_once, has_letters


class FastText:
    """A fastText model from a file, used as fasttext-langdetect uses lid.176.

    Sentences are not preprocessed. OpenLID's authors clean text first; without it, their model is
    somewhat less certain.
    """

    def __init__(self, path: Path) -> None:
        """Load the model.

        Raises:
            UserError: a missing file, no `fasttext` module, or an invalid file.
        """
        if not path.is_file():
            raise UserError(f"`--lid` must be a fastText model such as lid.176.bin; {path} is not")
        try:
            import fasttext
        except ImportError:
            raise UserError(
                "`--lid` must be corpus, references or langdetect unless the module fasttext is "
                "installed (pip install fasttext-predict); it is not"
            ) from None
        try:
            self._model: Any = fasttext.load_model(str(path))
            # predict all labels, as fasttext-predict has no other list of them
            labels, _ = self._model.predict("a", k=-1, threshold=-1.0)
            if not labels:
                raise ValueError("it has no labels or is incomplete")
        except ValueError as error:  # an invalid file, or the package fasttext with numpy 2
            raise UserError(
                f"`--lid` must be a fastText model that fasttext-predict can read; {path}: {error}"
            ) from None
        self._known = frozenset(map(of_label, labels)) - {UNDETECTABLE}
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as m:
            digest = hashlib.sha256(m).hexdigest()
        self._path = path
        self.signature = f"fasttext:{path.name}|sha256:{digest[:16]}"

    def __reduce__(self) -> tuple[type[FastText], tuple[Path]]:
        """Other processes load the file themselves, as the model cannot be pickled."""
        return FastText, (self._path,)

    def label(self, language: str) -> str | None:
        """The language's canonical code: `no` for `nb`, `zh` for `zh_CN`."""
        code = canonical(language)
        return code if code in self._known else None

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """The canonical code of each sentence's most likely label.

        UNDETECTABLE for a sentence without letters, or if the model finds no language (including
        GlotLID's `und` and `zxx`).
        """
        return each_once(self._one, sentences)

    def probabilities(self, sentence: str) -> dict[str, float]:
        """The probability of each code, summed over its labels."""
        sums: defaultdict[str, float] = defaultdict(float)
        if has_letters(sentence):
            predicted = self._model.predict(sentence.replace("\n", " "), k=-1)
            for label, probability in zip(*predicted, strict=True):
                sums[of_label(label)] += probability
        return dict(sums)

    def _one(self, sentence: str) -> str:
        labels, _ = self._model.predict(sentence.replace("\n", " "))
        return of_label(labels[0]) if labels else UNDETECTABLE
