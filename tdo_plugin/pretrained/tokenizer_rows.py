"""The rows of a tokenizer that `tdo export` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.typed import parse_json

TOKENIZER = "tokenizer.json"


def symbols_of(folder: Path) -> list[str]:
    """The names of all rows, in order.

    Raises:
        UserError: the tokenizer is missing or damaged.
    """
    tokenizer = json_object(folder / TOKENIZER)
    try:
        vocabulary = tokenizer["model"]["vocab"]
        entries = [name for name, _ in vocabulary] if isinstance(vocabulary, list) else vocabulary
        rows = {
            **(entries if isinstance(entries, dict) else {n: r for r, n in enumerate(entries)}),
            **{entry["content"]: entry["id"] for entry in tokenizer["added_tokens"]},
        }
        symbols = sorted(rows, key=rows.__getitem__)
        if [rows[symbol] for symbol in symbols] != list(range(len(symbols))):
            raise ValueError("its rows have gaps")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{folder / TOKENIZER} must be as `tdo export` wrote it: {type(error).__name__}"
        ) from None
    return symbols


def json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        UserError: the file is missing, or has something else.
    """
    try:
        content = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} must be readable: {type(error).__name__}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} must be a JSON object; it is not")
    return content
