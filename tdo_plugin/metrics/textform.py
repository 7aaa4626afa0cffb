"""How the text of a data folder is cased and tokenized, and the way to plain text and back.

It stands under `form` in the folder's `prepared.json`:

    "form": {"casing": "cased" | "lowercased" | "truecased", "tokenization": "none" | "moses"}

`casing` and `tokenization` are the state of the text before it was cut into pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.data.databin import MARK, settings_of
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.errors import UserError

CASINGS = ("cased", "lowercased", "truecased")
TOKENIZATIONS = ("none", "moses")


@dataclass(frozen=True)
class TextForm:
    """Casing and tokenization of the text that a model was trained on."""

    casing: str = "cased"
    tokenization: str = "none"

    def prepare(self, lines: Sequence[str], language: str) -> list[str]:
        """Plain text as the model knows it, before it is cut into pieces."""
        from tdo_plugin.metrics import moses

        result = list(lines)
        if self.tokenization == "moses":
            result = moses.tokenize(result, language)
        if self.casing == "lowercased":
            result = [line.lower() for line in result]
        return result

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


def read_text_form(root: Path) -> TextForm:
    """The form of a folder's text; one that says nothing is cased and not tokenized.

    Raises:
        UserError: an entry that is not known.
    """
    stored = (settings_of(root) or {}).get("form", {})
    try:
        form = TextForm(**stored)
    except TypeError:
        form = TextForm(casing=str(stored))
    if form.casing not in CASINGS or form.tokenization not in TOKENIZATIONS:
        raise UserError(
            f"`form` in {root / MARK} must have a casing of {', '.join(CASINGS)} and a "
            f"tokenization of {', '.join(TOKENIZATIONS)}; it is {stored}"
        )
    return form
