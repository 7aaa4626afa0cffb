"""Training text dealt out to training, validation and test sets, where the user has none of these.

A row's set follows from a hash of its sentence in one language, the pivot: the language that most
pairs have. So neither the order of lines nor other text moves a sentence, and rows of several pairs
with the same English sentence fall into the same sets. A held-out set has each pivot sentence once.
What else training shares with held-out sets, the rule `held-out` takes out of training.

The share that is held out is a power of 1/2, so that it stays as it is while a corpus grows by less
than half; a folder that is dealt again keeps its shares (`shares.json`).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tdo_plugin.corpora.description.schema import Rule
from tdo_plugin.corpora.rows.cleaning import Cleaner
from tdo_plugin.corpora.rows.heldout import number_of
from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.data.textfolder import count_lines
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.language_id.codes import canonical
from tdo_plugin.runtime.files import complete_file, many_open_files, write_text
from tdo_plugin.start.recognition import Pair, Text

SHARES = "shares.json"  # in the run's folder
HELD_OUT = 500  # sentences of a held-out set at least, and fewer than twice as many
LARGEST_SHARE = 4  # 1/2 ** 4 of a small corpus
FEWEST = 200  # sentence pairs that can be dealt out
CHUNK = 2_000  # rows whose languages are identified at once

Misfits = Callable[[Sequence[str], str], list[bool]]  # sentences, their language -> which are none


@dataclass(frozen=True)
class Dealing:
    """How rows are dealt out.

    Attributes:
        pivot: the language whose sentences decide, where a text has it.
        shares: pair -> n, where each held-out set has 1/2 ** n of the rows.
    """

    pivot: str
    shares: Mapping[Pair, int]

    def of(self, text: Text) -> str:
        """The language whose sentences decide in a text."""
        return self.pivot if self.pivot in text.files else text.languages[0]

    def split(self, sentence: str, pair: Pair, missing: Collection[str]) -> str:
        """Where a row of a pair goes.

        Args:
            sentence: the pivot's.
            pair: of which the row is.
            missing: the sets that are to be made, of valid and test.
        """
        share = self.shares.get(pair)
        if share is None or not missing:
            return "train"
        part = number_of(sentence) >> (64 - share)
        if part == 0 and "test" in missing:
            return "test"
        return "valid" if part == 2**share - 1 and "valid" in missing else "train"


@dataclass
class Dealt:
    """What was written.

    Attributes:
        folder: of files such as train.de-en.de.
        rows: split and pair -> rows.
        repeated: pair -> rows that are left out, with a pivot sentence that is held out already.
        foreign: pair -> rows that are left out, with a side in another language.
    """

    folder: Path
    rows: Counter[tuple[str, Pair]] = field(default_factory=Counter)
    repeated: Counter[Pair] = field(default_factory=Counter)
    foreign: Counter[Pair] = field(default_factory=Counter)


def plan_dealing(
    pairs: Iterable[Pair],
    lines: Mapping[Pair, int],
    given: Collection[tuple[str, Pair]],
    record: Path,
) -> Dealing:
    """The pivot, and a share for each pair that lacks a held-out set.

    Args:
        pairs: that are trained.
        lines: of their training text.
        given: split and pair of the user's validation and test sets.
        record: a file that keeps the shares for the next time.

    Raises:
        UserError: a pair has too few lines to hold any out.
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
                f"`FOLDER` must hold a validation and a test set of {'-'.join(pair)}, or at least "
                f"{FEWEST} sentence pairs to take them from; it has {lines[pair]}"
            )
        usual = max(LARGEST_SHARE, int(math.log2(lines[pair] / HELD_OUT)))
        shares[pair] = kept.get("-".join(pair), usual)
    record.parent.mkdir(parents=True, exist_ok=True)
    named = kept | {"-".join(pair): share for pair, share in shares.items()}
    write_text(record, [json.dumps({"pivot": pivot, "shares": named})])
    return Dealing(pivot, shares)


def pivot_of(pairs: Iterable[Pair]) -> str:
    """The language of most pairs; English before others, then by the alphabet."""
    counts = Counter(language for pair in pairs for language in pair)
    return min(counts, key=lambda code: (-counts[code], canonical(code) != "en", code))


def _recall(record: Path, pivot: str) -> dict[str, int]:
    try:
        stored = json.loads(record.read_text(encoding="utf-8"))
        return dict(stored["shares"]) if stored["pivot"] == pivot else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def deal(
    texts: Iterable[Text],
    pairs: Collection[Pair],
    given: Collection[tuple[str, Pair]],
    dealing: Dealing,
    rules: Sequence[Rule],
    folder: Path,
    misfits: Misfits | None = None,
) -> Dealt:
    """Write training text, and the sets that are missing of it.

    A text of several languages also gives a test set to its pairs that are not trained, of rows
    that are test rows of all its trained pairs.

    Args:
        texts: to train on.
        pairs: that are trained.
        given: split and pair of sets that there are.
        dealing: see `Dealing`.
        rules: a row that one of these takes is not held out.
        folder: where the files go.
        misfits: which sentences are not in the language that they should be in; rows with any are
            left out.
    """
    dealt = Dealt(folder)
    folder.mkdir(parents=True, exist_ok=True)
    seen: dict[tuple[str, Pair], set[int]] = {}
    with ExitStack() as stack:
        stack.enter_context(many_open_files())  # six a pair, of which 24 languages have 276
        streams: dict[str, object] = {}

        def write(split: str, pair: Pair, row: Mapping[str, str]) -> None:
            for language in pair:
                name = f"{split}.{'-'.join(pair)}.{language}"
                if name not in streams:
                    streams[name] = stack.enter_context(complete_file(folder / name))
                streams[name].write(f"{row[language]}\n")  # type: ignore[attr-defined]
            dealt.rows[split, pair] += 1

        for text in texts:
            work = _of_text(text, pairs, given, dealing)
            cleaners = {pair: Cleaner(rules, pair, None, folder) for pair, _ in work}
            for row, foreign in _rows(text, misfits):
                sentence = row[dealing.of(text)]
                for pair, (trained, missing, share_of) in work:
                    if foreign.intersection(pair):
                        dealt.foreign[pair] += trained
                        continue
                    split = dealing.split(sentence, share_of, missing)
                    if split != "train" and not cleaners[pair].lets_pass(
                        (row[pair[0]], row[pair[1]])
                    ):
                        split = "train"
                    if split != "train":
                        numbers = seen.setdefault((split, pair), set())
                        if (number := number_of(sentence)) in numbers:
                            dealt.repeated[pair] += 1
                            continue
                        numbers.add(number)
                    if trained or split == "test":
                        write(split, pair, row)
    return dealt


def _of_text(
    text: Text,
    pairs: Collection[Pair],
    given: Collection[tuple[str, Pair]],
    dealing: Dealing,
) -> list[tuple[Pair, tuple[bool, tuple[str, ...], Pair]]]:
    """For each pair of a text: is it trained, what is missing, and the pair whose share it has."""
    trained = [pair for pair in text.pairs() if pair in pairs]
    work = []
    for pair in text.pairs():
        splits = ("valid", "test") if pair in trained else ("test",)
        missing = tuple(split for split in splits if (split, pair) not in given)
        # the smallest share among the trained pairs, so that what it holds out, these do as well
        shared = [other for other in trained if other in dealing.shares]
        of = pair if pair in trained else max(shared, key=dealing.shares.__getitem__, default=pair)
        if pair in trained or (missing and shared):
            work.append((pair, (pair in trained, missing, of)))
    return work


def _rows(text: Text, misfits: Misfits | None) -> Iterator[tuple[dict[str, str], frozenset[str]]]:
    """Each row by language, with the languages whose sentence is in another one."""
    languages = text.languages
    sides = [read_lines(text.files[language], "utf-8") for language in languages]
    rows = zip(*sides, strict=True)
    while chunk := [*islice(rows, CHUNK)]:
        wrong: list[set[str]] = [set() for _ in chunk]
        if misfits is not None:
            for language, column in zip(languages, zip(*chunk, strict=True), strict=True):
                for number, misfit in enumerate(misfits(column, language)):
                    if misfit:
                        wrong[number].add(language)
        for row, foreign in zip(chunk, wrong, strict=True):
            yield dict(zip(languages, row, strict=True)), frozenset(foreign)


def copy_sets(
    texts: Iterable[Text], pairs: Collection[Pair], languages: Collection[str], folder: Path
) -> list[tuple[str, Pair, int]]:
    """Write the user's validation sets of trained pairs, and test sets of all pairs of languages.

    Returns:
        Split, pair and rows of each.
    """
    written = []
    for text in texts:
        for pair in text.pairs():
            taken = pair in pairs if text.split == "valid" else {*pair} <= {*languages}
            if not taken:
                continue
            for language in pair:
                path = folder / f"{text.split}.{'-'.join(pair)}.{language}"
                write_text(path, read_lines(text.files[language], "utf-8"))
            written.append((str(text.split), pair, count_lines(path)))
    return written
