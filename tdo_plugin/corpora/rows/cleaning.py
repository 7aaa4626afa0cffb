"""Filters rows by rules, and counts the rows that each rule removes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import regex

from tdo_plugin.corpora.description.schema import Pair, Row, Rule
from tdo_plugin.corpora.rows.heldout import HeldOut
from tdo_plugin.corpora.rows.seen import mark_repeats

__all__ = ["Cleaner", "HeldOut"]

Tokenized = TypeVar("Tokenized", bound=tuple[str, ...])

# the replacement character; control characters except tab; unassigned, private use, surrogates
_UNREADABLE = regex.compile(r"[\N{REPLACEMENT CHARACTER}\p{Cc}\p{Cn}\p{Co}\p{Cs}--\t]", regex.V1)


class Cleaner:
    """The rules of one split for one pair.

    Attributes:
        counts: readable rule -> number of rows that it removed, in the order of the rules.
    """

    def __init__(
        self, rules: Sequence[Rule], pair: Pair, held_out: HeldOut | None, scratch: Path
    ) -> None:
        """
        Args:
            rules: rules on tokens last.
            pair: the languages of a row.
            held_out: for held-out and held-out-pairs; None if there are no such rules.
            scratch: folder for temporary files.
        """
        self._rules = [(_readable(rule), rule) for rule in rules]
        self._takes: dict[str, Callable[[Row], bool]] = {}
        for name, rule in self._rules:
            if rule.rule in _ON_ROW:
                self._takes[name] = partial(_ON_ROW[rule.rule], rule)
            elif rule.rule in _ON_HELD_OUT:
                assert held_out is not None
                self._takes[name] = partial(_ON_HELD_OUT[rule.rule], held_out, pair)
        self._scratch = scratch
        self.counts = {name: 0 for name, _ in self._rules}

    def before_tokens(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows that pass the rules on text, in order."""
        for name, rule in self._rules:
            if rule.unit != "tokens":
                rows = self._left(name, rows)
        return iter(rows)

    def after_tokens(self, rows: Iterable[Tokenized]) -> Iterator[Tokenized]:
        """The tokenized rows that pass the rules on tokens, and again the rule on empty rows.

        Args:
            rows: both sides, with tokens separated by spaces; further values may follow.
        """
        for name, rule in self._rules:
            if rule.unit == "tokens" or rule.rule == "empty":  # tokenization drops characters
                rows = self._left(name, rows)
        return iter(rows)

    def lets_pass(self, row: Row) -> bool:
        """Whether a single row passes all rules; not for duplicates, which need all rows."""
        for name, _ in self._rules:
            if self._takes[name](row):
                self.counts[name] += 1
                return False
        return True

    def _left(self, name: str, rows: Iterable[Any]) -> Iterator[Any]:
        if name in self._takes:
            takes = self._takes[name]
            marked: Iterator[tuple[Any, bool]] = ((row, takes(row)) for row in rows)
        else:
            marked = mark_repeats(rows, self._scratch)
        for row, taken in marked:
            if taken:
                self.counts[name] += 1
            else:
                yield row


def _readable(rule: Rule) -> str:
    return _NAMES.get(rule.rule, "{0.rule}").format(rule)


_NAMES = {
    "contains": "contains {0.text}",
    "length": "length not {0.least} to {0.most} {0.unit}",
    "ratio": "ratio > {0.most} in {0.unit}",
}


def _is_empty(_: Rule, row: Row) -> bool:
    return not (row[0].strip() and row[1].strip())


def _is_same(_: Rule, row: Row) -> bool:
    return row[0] == row[1]


def _is_unreadable(_: Rule, row: Row) -> bool:
    return any(not _is_plainly_readable(text) and _UNREADABLE.search(text) for text in row)


def _is_plainly_readable(text: str) -> bool:
    # most text is, and this check takes a tenth of the time
    return text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text


def _contains(rule: Rule, row: Row) -> bool:
    assert rule.text is not None
    return rule.text in row[0] or rule.text in row[1]


def _is_out_of_length(rule: Rule, row: Row) -> bool:
    assert rule.least is not None and rule.most is not None
    return any(not rule.least <= size <= rule.most for size in _sizes(rule, row))


def _is_out_of_ratio(rule: Rule, row: Row) -> bool:
    assert rule.most is not None
    shorter, longer = sorted(_sizes(rule, row))
    return longer / shorter > rule.most if shorter else longer > 0


def _sizes(rule: Rule, row: Row) -> tuple[int, int]:
    first, second = row[0], row[1]
    if rule.unit == "tokens":
        return len(first.split()), len(second.split())
    return len(first), len(second)


_ON_ROW: dict[str, Callable[[Rule, Row], bool]] = {
    "empty": _is_empty,
    "same": _is_same,
    "unreadable": _is_unreadable,
    "contains": _contains,
    "length": _is_out_of_length,
    "ratio": _is_out_of_ratio,
}
_ON_HELD_OUT = {"held-out": HeldOut.has_side, "held-out-pairs": HeldOut.has_pair}
