"""The parser of `tdo` and its sub-commands: what numbers may be, and how it complains."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tdo_compat.errors import OneLineParser
from tdo_plugin.errors import UserError

LARGEST = 10**9  # whole number of an option: the product of any two fits into 64 bits
SEEDS = 2**63  # of torch's generators
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")


def _number(text: str, lowest: int, highest: int) -> int:
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or not lowest <= number <= highest:
        raise argparse.ArgumentTypeError(
            f"must be a whole number from {lowest:,} to {highest:,}; it is {text}"
        )
    return number


def whole(text: str) -> int:
    """A whole number that an option takes, where the option itself does not say less."""
    return _number(text, -LARGEST, LARGEST)


def real(text: str) -> float:
    """A number; what is infinite or none at all is left to the option to refuse."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number; it is {text}") from None


def seed(text: str) -> int:
    """A seed that torch's generators take."""
    return _number(text, 0, SEEDS - 1)


class Layout(argparse.HelpFormatter):
    """Fills a paragraph as argparse does, and leaves text of several lines as it is."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Parser(OneLineParser):
    """Reads `type=int` and `type=float` of all options by one rule; its complaints are bounded.

    Also of options that fairseq or a library declares.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"formatter_class": Layout, **options})
        self.register("type", int, whole)
        self.register("type", float, real)
        self.hands_on: Callable[[argparse.Namespace], bool] | None = None

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """As argparse's; what is no option here goes to `rest` where `hands_on` says so."""
        namespace, unknown = super().parse_known_args(args, namespace)
        if self.hands_on is not None and self.hands_on(namespace):
            namespace.rest, unknown = [word for word in unknown if word != "--"], []
        return namespace, unknown


class RaisingParser(Parser):
    """One that is no command's own, so that the command says what is wrong."""

    def error(self, message: str) -> NoReturn:
        """Raise UserError."""
        raise UserError(self.worded(message))
