"""The language pairs in a description: listed, by group, or by a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from tdo_plugin.corpora.description.schema import Pair


class PairNames:
    """Resolves the values of `pairs`, `train` and `test`; problems are added to `mistakes`.

    Attributes:
        train: the pairs with training text.
        test: the pairs with a test set, in the order of their training text if they have any.
    """

    def __init__(self, document: Mapping[str, Any], mistakes: list[str]) -> None:
        self._languages: Sequence[str] = document["languages"]
        self._groups: Mapping[str, list[str]] = document.get("groups", {})
        self._mistakes = mistakes
        self._known: dict[str, tuple[Pair, ...]] = {}
        self._orientation: dict[frozenset[str], Pair] = {}
        self.train = self._named("train", document["train"], self._with(document.get("centre")))
        self._orientation = {frozenset(pair): pair for pair in self.train}
        self._known["train"] = self.train
        self.test = self._named("test", document["test"], {"all": self._all(), **self._known})
        self._known["test"] = self.test
        self._orientation = {frozenset(pair): pair for pair in (*self.test, *self.train)}

    def resolve(self, where: str, value: str | list[str]) -> tuple[Pair, ...]:
        """The pairs of a set or of held-out rows: train, test, a group, or a list of these."""
        return self._named(where, value, self._known)

    def _with(self, centre: str | None) -> dict[str, tuple[Pair, ...]]:
        if centre is None:
            return {}
        return {
            "centre": tuple(
                (centre, language) for language in self._languages if language != centre
            )
        }

    def _all(self) -> tuple[Pair, ...]:
        pairs = combinations(self._languages, 2)
        return tuple(self._orientation.get(frozenset(pair), pair) for pair in pairs)

    def _named(
        self, where: str, value: str | list[str], pairs_by_name: Mapping[str, tuple[Pair, ...]]
    ) -> tuple[Pair, ...]:
        pairs: list[Pair | None] = []
        for word in [value] if isinstance(value, str) else value:
            if word in pairs_by_name:
                pairs += pairs_by_name[word]
            elif word in self._groups:
                pairs += [self._pair(f"groups.{word}", name) for name in self._groups[word]]
            else:
                pairs.append(self._pair(where, word))
        right = [pair for pair in pairs if pair is not None]
        if len({frozenset(pair) for pair in right}) < len(right):
            self._mistakes.append(f"{where} must name each pair once")
        return tuple(right)

    def _pair(self, where: str, word: str) -> Pair | None:
        first, dash, second = word.partition("-")
        if not dash or first == second or not {first, second} <= set(self._languages):
            self._mistakes.append(f"{where} must name pairs of the languages; {word} is not one")
            return None
        usual = self._orientation.get(frozenset((first, second)), (first, second))
        if usual != (first, second):
            self._mistakes.append(f"{where} must name {word} as elsewhere, {'-'.join(usual)}")
        return first, second
