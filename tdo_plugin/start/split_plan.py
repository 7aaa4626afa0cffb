"""Whether a row goes to training, validation or test.

Validation and test sets that the user does not have are split off the training text. A hash of the
row's sentence in the pivot language, the language of most pairs, decides the set. Therefore
reordering or adding text never moves a sentence to another set, and rows of several pairs with the
same English sentence go to the same set. A held-out set contains each pivot sentence once. The
cleaning rule `held-out` removes any other overlap with held-out sets from training.

The held-out share is a power of 1/2, so that it rarely changes while a corpus grows. Splitting
again into the same run folder keeps the shares (`shares.json`).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.corpora.rows.heldout import number_of
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import canonical
from tdo_plugin.runtime.files import write_text
from tdo_plugin.start.recognised_text import Pair, Text
from tdo_plugin.typed import read_json

SHARES = "shares.json"  # in the run folder
HELD_OUT = 500  # a held-out set has from HELD_OUT to 2 * HELD_OUT sentences
LARGEST_SHARE = 4  # exponent: 1/2 ** 4 of a small corpus is held out
FEWEST = 200  # minimum number of sentence pairs for a split


@dataclass(frozen=True)
class SplitPlan:
    """How rows are assigned to sets.

    Attributes:
        pivot: the language whose sentences are hashed, if a text has it.
        shares: pair -> n; each held-out set gets 1/2 ** n of the rows.
    """

    pivot: str
    shares: Mapping[Pair, int]

    def of(self, text: Text) -> str:
        """Return the language of a text whose sentences are hashed."""
        return self.pivot if self.pivot in text.files else text.languages[0]

    def split(self, sentence: str, pair: Pair, missing: Collection[str]) -> str:
        """Return the set of a row: train, valid or test.

        Args:
            sentence: the row's sentence in the pivot language.
            pair: the language pair whose share applies.
            missing: the sets to split off: valid, test, both or none.
        """
        share = self.shares.get(pair)
        if share is None or not missing:
            return "train"
        part = number_of(sentence) >> (64 - share)
        if part == 0 and "test" in missing:
            return "test"
        return "valid" if part == 2**share - 1 and "valid" in missing else "train"


def plan_splits(
    pairs: Iterable[Pair],
    lines: Mapping[Pair, int],
    given: Collection[tuple[str, Pair]],
    record: Path,
) -> SplitPlan:
    """Choose the pivot language, and a held-out share for each pair that lacks a held-out set.

    Args:
        pairs: the trained pairs.
        lines: number of lines of training text for each trained pair.
        given: (split, pair) of the validation and test sets that the user has.
        record: file that stores the shares for later calls.

    Raises:
        UserError: a pair has too few lines to split off a set.
    """
    pairs = [*pairs]
    pivot = pivot_of(pairs)
    kept = _recall(record, pivot)
    shares: dict[Pair, int] = {}
    for pair in pairs:
        if ("valid", pair) in given and ("test", pair) in given:
            continue
        if lines[pair] < FEWEST:
            raise UserError(
                f"`TEXT` must hold a validation and a test set of {'-'.join(pair)}, or at least "
                f"{FEWEST} sentence pairs to take them from; it has {lines[pair]}"
            )
        usual = max(LARGEST_SHARE, int(math.log2(lines[pair] / HELD_OUT)))
        shares[pair] = kept.get("-".join(pair), usual)
    record.parent.mkdir(parents=True, exist_ok=True)
    named = kept | {"-".join(pair): share for pair, share in shares.items()}
    write_text(record, [json.dumps({"pivot": pivot, "shares": named})])
    return SplitPlan(pivot, shares)


def pivot_of(pairs: Iterable[Pair]) -> str:
    """Return the language of most pairs; ties go to English, then to alphabetical order."""
    counts = Counter(language for pair in pairs for language in pair)
    return min(counts, key=lambda code: (-counts[code], canonical(code) != "en", code))


def _recall(record: Path, pivot: str) -> dict[str, int]:
    try:
        stored = read_json(record)
        return dict(stored["shares"]) if stored["pivot"] == pivot else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}
