"""How the text of a data folder is cased and tokenized, and the way to plain text and back.

It stands under `form` in the folder's `prepared.json`:

    "form": {"casing": "cased" | "lowercased" | "truecased", "tokenization": "none" | "moses",
             "normalize_punctuation": true, "aggressive_hyphens": true, "tokenized_at_source": true,
             "plain_references": true}

`casing` and `tokenization` are the state of the text before it was cut into pieces; with `moses`
Chinese is in jieba's words. The last four are there where they are true: Moses' normalization came
before tokenization; hyphens are tokens; the corpus was published in Moses' tokens, which in Chinese
part signs and not words, so jieba has no part in it; test text in `reference/` is as it was before
all of this. The folder of a truecased corpus may have the
model of each language, `truecase.de`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdo_compat.digests import digests
from tdo_compat.settings import shown
from tdo_plugin.data.databin import MARK, settings_of
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.errors import UserError

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
        """Plain text as the model knows it, before it is cut into pieces.

        Args:
            lines: plain text.
            language: its language, as the folder calls it.
            folder: the data folder; without it, or where it has no truecasing model of the
                language, truecased text is left as it is cased.

        Raises:
            UserError: sacremoses or jieba, which this form takes, is not installed.
        """
        return self.cased(self.tokenized(lines, language), language, folder)

    def tokenized(self, lines: Sequence[str], language: str) -> list[str]:
        """Plain text normalized and tokenized; the first half of `prepare`."""
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
        """Whether plain text of the source is tokenized or normalized on its way into this form."""
        processed = self.tokenization != "none" or self.normalize_punctuation
        return processed and not self.tokenized_at_source

    def tokenizers(self, languages: Iterable[str]) -> list[str]:
        """Names the tokenizers of the source's text, with their versions.

        Raises:
            UserError: sacremoses or jieba, which this form takes, is not installed.
        """
        from tdo_plugin.metrics import moses

        with_moses = self.tokenizes and self.tokenization == "moses"
        return [moses.signature(language) for language in languages] if with_moses else []

    def cased(self, lines: Sequence[str], language: str, folder: Path | None) -> list[str]:
        """Tokenized text truecased or lowercased; the second half of `prepare`."""
        from tdo_plugin.metrics import moses

        if self.casing == "lowercased":
            return [line.lower() for line in lines]
        if self.casing == "truecased" and folder and truecaser(folder, language).is_file():
            return moses.truecase(lines, truecaser(folder, language))
        return list(lines)

    def restore(self, pieces: str, language: str) -> str:
        """A line of SentencePiece's pieces as plain text, detokenized and with a capital letter.

        Lowercased text stays lowercased: what was lost cannot be had back.
        """
        return self.plain([join_pieces(pieces)], language)[0]

    def plain(self, lines: Sequence[str], language: str) -> list[str]:
        """Text in this form, detokenized; a truecased line begins with a capital letter."""
        from tdo_plugin.metrics import moses

        result = list(lines)
        if self.casing == "truecased":
            result = moses.detruecase(result)
        if self.tokenization == "moses":
            result = moses.detokenize(result, language)
        return result

    def references(self, lines: Sequence[str], language: str) -> list[str]:
        """Text of the folder's `reference/` as plain text."""
        return list(lines) if self.plain_references else self.plain(lines, language)

    def stored(self) -> dict[str, str | bool]:
        """What `prepared.json` has of it; flags that are off are left out, as of old."""
        flags = {name: True for name in FLAGS if getattr(self, name)}
        return {"casing": self.casing, "tokenization": self.tokenization, **flags}

    def way_in(self) -> dict[str, str | bool]:
        """What of it shows in a model's pieces; tokens of the corpus are as good as ours."""
        apart = ("tokenized_at_source", "plain_references")
        return {name: value for name, value in self.stored().items() if name not in apart}


def form_shown(way_in: Mapping[str, object]) -> str:
    """`truecased, moses, aggressive_hyphens`, of what `TextForm.way_in` says."""
    return ", ".join(name if value is True else str(value) for name, value in way_in.items())


def truecaser(folder: Path, language: str) -> Path:
    """Where a data folder has the truecasing model of a language."""
    return folder / f"truecase.{language}"


def read_text_form(root: Path) -> TextForm:
    """The form of a folder's text; one that says nothing is cased and not tokenized.

    Raises:
        UserError: an entry that is not known.
    """
    digests(str(root / MARK))  # of a damaged mark the form is not known
    stored: Any = (settings_of(root) or {}).get("form", {})
    return form_of(stored, str(root / MARK))


def form_of(stored: Any, where: str) -> TextForm:
    """The form that was stored.

    Args:
        stored: as `TextForm.stored` has it, or all of its fields.
        where: it stands, for messages.

    Raises:
        UserError: an entry that is not known.
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
            f"`form` in {where} must have a casing of {', '.join(CASINGS)} and a "
            f"tokenization of {', '.join(TOKENIZATIONS)}, and true or false for "
            f"{', '.join(FLAGS)}; it is {shown(str(stored))}"
        )
    return form
