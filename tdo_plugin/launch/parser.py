"""The argument parser of `tdo` and its sub-commands: number ranges and one-line errors."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NoReturn

from tdo_compat.errors import OneLineParser
from tdo_plugin.errors import UserError

LARGEST = 10**9  # largest whole number of an option: the product of any two fits into 64 bits
SEEDS = 2**63  # number of seeds of torch's generators
# Earlier names of options, which a parser with the present name accepts but does not show.
RENAMED = {
    "--center": "--hub",
    "--centre": "--hub",
    "--dtype": "--precision",
    "--force": "--fresh",
    "--inputs": "--path",
    "--languages": "--langs",
    "--new-languages": "--new-langs",
    "--output": "--out",
    "--quantization": "--precision",
    "--share-center": "--share-hub",
    "--workers": "--processes",
}
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")


def whole(text: str, lowest: int = -LARGEST, highest: int = LARGEST) -> int:
    """Parse a whole number in a range, by default that of all options."""
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or not lowest <= number <= highest:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from {lowest:,} to {highest:,}; it is {text}"
        )
    return number


@cache
def at_least(lowest: int) -> Callable[[str], int]:
    """A parser of whole numbers from `lowest` on."""
    return partial(whole, lowest=lowest)


def real(text: str) -> float:
    """Parse a number; each option rejects infinity and NaN itself."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number; it is {text}") from None


def seed(text: str) -> int:
    """Parse a seed for torch's generators."""
    return whole(text, 0, SEEDS - 1)


def meaning(action: argparse.Action) -> str | None:
    """The help of an option with its default, if it has one that the help does not state."""
    text, default = action.help, action.default
    unset = default is False or default in (None, argparse.SUPPRESS, "", (), [])
    return text if unset or not text or "default" in text else f"{text} (default: %(default)s)"


class Layout(argparse.HelpFormatter):
    """Wraps a paragraph as argparse does, and keeps text with several lines unchanged."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return meaning(action)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Parser(OneLineParser):
    """Parses `type=int` and `type=float` of all options with `whole` and `real`.

    This includes options that fairseq or another library declares.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": Layout, **options})
        self.register("type", int, whole)
        self.register("type", float, real)
        self.hands_on: Callable[[argparse.Namespace], bool] | None = None

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As in argparse, with `RENAMED`; unknown options go to `rest` if `hands_on` is true."""
        words = [self._present(word) for word in (sys.argv[1:] if args is None else args)]
        namespace, unknown = super().parse_known_args(words, namespace)
        if self.hands_on is not None and self.hands_on(namespace):
            namespace.rest, unknown = [word for word in unknown if word != "--"], []
        return namespace, unknown

    def _present(self, word: str) -> str:
        """An option with its present name."""
        name, mark, value = word.partition("=")
        known = self._option_string_actions
        new = RENAMED.get(name, name)
        return f"{new}{mark}{value}" if name not in known and new in known else word


class RaisingParser(Parser):
    """A parser inside a command that raises errors instead of exiting."""

    def error(self, message: str) -> NoReturn:
        """Raise UserError."""
        raise UserError(self.worded(message))
