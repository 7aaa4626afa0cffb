"""Casing and tokenization of a data folder's text, and conversion from and to plain text.

The form is stored under `form` in the folder's `prepared.json`:

    "form": {"casing": "cased" | "lowercased" | "truecased", "tokenization": "none" | "moses",
             "normalize_punctuation": true, "aggressive_hyphens": true, "tokenized_at_source": true,
             "plain_references": true}

`casing` and `tokenization` describe the text before subword segmentation; with `moses`, Chinese is
segmented by jieba. The last four are only present if true: text was normalized by Moses before
tokenization; hyphens are tokens; the corpus was published with Moses tokens, which in Chinese split
signs and not words, so jieba was not used; test text in `reference/` is the original text before
all of this. The folder of a truecased corpus may have a model for each language, `truecase.de`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tdo_compat.digests import digests
from tdo_compat.settings import shown
from tdo_plugin.data.databin import MARK, DataFolder, settings_of
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import replaced

CASINGS = ("cased", "lowercased", "truecased")
TOKENIZATIONS = ("none", "moses")
FLAGS = (
    "normalize_punctuation",
    "aggressive_hyphens",
    "tokenized_at_source",
    "plain_references",
)


@dataclass(frozen=True)
class TextForm:
    """Casing and tokenization of the text that a model was trained on."""

    casing: str = "cased"
    tokenization: str = "none"
    normalize_punctuation: bool = False
    aggressive_hyphens: bool = False
    tokenized_at_source: bool = False
    plain_references: bool = False

    def prepare(self, lines: Sequence[str], language: str, folder: Path | None = None) -> list[str]:
        """Convert plain text to the model's form, before subword segmentation.

        Args:
            lines: plain text.
            language: the language's code in the folder.
            folder: the data folder; without it, or without a truecasing model for the language,
                the casing of truecased text is not changed.

        Raises:
            UserError: sacremoses or jieba, which this form requires, is not installed.
        """
        return self.cased(self.tokenized(lines, language), language, folder)

    def tokenized(self, lines: Sequence[str], language: str) -> list[str]:
        """Normalize and tokenize plain text: the first half of `prepare`."""
        from tdo_plugin.metrics import moses

        result = list(lines)
        if self.normalize_punctuation:
            result = moses.normalize(result, language)
        if self.tokenization == "moses":
            jieba = not self.tokenized_at_source
            result = moses.tokenize(result, language, self.aggressive_hyphens, jieba)
        return result

    @property
    def tokenizes(self) -> bool:
        """Whether plain source text must be tokenized or normalized for this form."""
        processed = self.tokenization != "none" or self.normalize_punctuation
        return processed and not self.tokenized_at_source

    def tokenizers(self, languages: Iterable[str]) -> list[str]:
        """The names of the source tokenizers, with versions.

        Raises:
            UserError: sacremoses or jieba, which this form requires, is not installed.
        """
        from tdo_plugin.metrics import moses

        with_moses = self.tokenizes and self.tokenization == "moses"
        return [moses.signature(language) for language in languages] if with_moses else []

    def cased(self, lines: Sequence[str], language: str, folder: Path | None) -> list[str]:
        """Truecase or lowercase tokenized text: the second half of `prepare`."""
        from tdo_plugin.metrics import moses

        if self.casing == "lowercased":
            return [line.lower() for line in lines]
        if self.casing == "truecased" and folder and truecaser(folder, language).is_file():
            return moses.truecase(lines, truecaser(folder, language))
        return list(lines)

    def restore(self, pieces: str, language: str) -> str:
        """Convert a line of SentencePiece pieces to plain text, detokenized and detruecased.

        Lowercased text stays lowercased, as its casing is lost.
        """
        return self.plain([join_pieces(pieces)], language)[0]

    def plain(self, lines: Sequence[str], language: str) -> list[str]:
        """Convert text in this form to plain text, detokenized and detruecased."""
        from tdo_plugin.metrics import moses

        result = list(lines)
        if self.casing == "truecased":
            result = moses.detruecase(result)
        if self.tokenization == "moses":
            result = moses.detokenize(result, language)
        return result

    def references(self, lines: Sequence[str], language: str) -> list[str]:
        """Convert text of the folder's `reference/` to plain text."""
        return list(lines) if self.plain_references else self.plain(lines, language)

    def stored(self) -> dict[str, str | bool]:
        """The form as stored in `prepared.json`, without flags that are off."""
        flags = {name: True for name in FLAGS if getattr(self, name)}
        return {"casing": self.casing, "tokenization": self.tokenization, **flags}

    def way_in(self) -> dict[str, str | bool]:
        """The parts of the form that affect a model's pieces."""
        apart = ("tokenized_at_source", "plain_references")
        return {name: value for name, value in self.stored().items() if name not in apart}


def form_shown(way_in: Mapping[str, object]) -> str:
    """The result of `TextForm.way_in` as text, such as `truecased, moses, aggressive_hyphens`."""
    return ", ".join(name if value is True else str(value) for name, value in way_in.items())


def truecaser(folder: Path, language: str) -> Path:
    """The path of a language's truecasing model in a data folder."""
    return folder / f"truecase.{language}"


def copy_truecasers(source: Path, target: Path, languages: Iterable[str]) -> list[str]:
    """Copy the truecasing models that a folder has.

    Returns:
        Their names.
    """
    found = [path for language in languages if (path := truecaser(source, language)).is_file()]
    for path in found:
        with replaced(target / path.name) as unfinished:
            unfinished.write_bytes(path.read_bytes())
    return [path.name for path in found]


def read_text_form(root: Path) -> TextForm:
    """The form of a folder's text; by default cased and not tokenized.

    Raises:
        UserError: an unknown entry.
    """
    digests(str(root / MARK))  # raises if the file is damaged
    stored: Any = (settings_of(root) or {}).get("form", {})
    return form_of(stored, str(root / MARK))


def plain_lines(data: DataFolder, split: str, language: str, limit: int) -> list[str]:
    """Plain text of a split (`train` or `valid`) in a language, evenly from all its pairs.

    Args:
        data: the folder.
        split: `train` or `valid`.
        language: of the lines.
        limit: number of lines, rounded up to as many from each pair.
    """
    files = sorted((data.root / "pieces").glob(f"{split}.*-*.{language}"))
    share = -(-limit // max(1, len(files)))
    lines = [join_pieces(line) for path in files for line in islice(read_lines(path), share)]
    return read_text_form(data.root).plain(lines, language)


def form_of(stored: Any, where: str) -> TextForm:
    """Parse a stored form.

    Args:
        stored: the result of `TextForm.stored`, or all fields.
        where: the place, for messages.

    Raises:
        UserError: an unknown entry.
    """
    try:
        form = TextForm(**stored)
    except TypeError:
        form = TextForm(casing=str(stored))
    flags = [getattr(form, name) for name in FLAGS]
    if (
        form.casing not in CASINGS
        or form.tokenization not in TOKENIZATIONS
        or not all(isinstance(flag, bool) for flag in flags)
    ):
        raise UserError(
            f"`form` in {where} must have a casing among {', '.join(CASINGS)}, a tokenization "
            f"among {', '.join(TOKENIZATIONS)}, and true or false for {', '.join(FLAGS)}; it is "
            f"{shown(str(stored))}"
        )
    return form
