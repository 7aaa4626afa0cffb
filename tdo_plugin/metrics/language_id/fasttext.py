"""fastText's models of languages: lid.176, GlotLID, OpenLID or any other file of that kind."""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import canonical, of_label
from tdo_plugin.metrics.language_id.protocol import UNDETECTABLE, each_once


class FastText:
    """A fastText model from a file that the user has, read as fasttext-langdetect reads lid.176.

    Sentences reach the model as they are. OpenLID's authors clean text first, in a way of their
    own; without it their model is somewhat less certain.
    """

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
                "`--lid` must be corpus, references or langdetect unless the module fasttext is "
                "installed (pip install fasttext-predict); it is not"
            ) from None
        try:
            self._model: Any = fasttext.load_model(str(path))
            # all of them, likely or not: fasttext-predict has no other list of its labels
            labels, _ = self._model.predict("a", k=-1, threshold=-1.0)
            if not labels:
                raise ValueError("there are no labels in it, or it is not whole")
        except ValueError as error:  # of a bad file, or of the package fasttext with numpy 2
            raise UserError(
                f"`--lid` must be a fastText model that fasttext-predict reads; {path}: {error}"
            ) from None
        self._known = frozenset(map(of_label, labels)) - {UNDETECTABLE}
        with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as m:
            digest = hashlib.sha256(m).hexdigest()
        self._path = path
        self.signature = f"fasttext:{path.name}|sha256:{digest[:16]}"

    def __reduce__(self) -> tuple[type[FastText], tuple[Path]]:
        """Another process loads the file itself; the model cannot be sent there."""
        return FastText, (self._path,)

    def label(self, language: str) -> str | None:
        """The language's canonical code: `no` for `nb`, `zh` for `zh_CN`."""
        code = canonical(language)
        return code if code in self._known else None

    def identify(self, sentences: Sequence[str]) -> list[str]:
        """The canonical code of each sentence's likeliest label.

        UNDETECTABLE for a sentence without a letter, and for one that the model calls no language
        (GlotLID's `und` and `zxx`) or finds nothing in.
        """
        return each_once(self._one, sentences)

    def _one(self, sentence: str) -> str:
        labels, _ = self._model.predict(sentence.replace("\n", " "))
        return of_label(labels[0]) if labels else UNDETECTABLE
