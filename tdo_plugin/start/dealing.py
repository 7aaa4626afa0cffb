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

SHARES = "shares.json"  # in the run folder
HELD_OUT = 500  # a held-out set has from HELD_OUT to 2 * HELD_OUT sentences
LARGEST_SHARE = 4  # exponent: 1/2 ** 4 of a small corpus is held out
FEWEST = 200  # minimum number of sentence pairs for a split
CHUNK = 2_000  # rows per call of the language detector

Misfits = Callable[[Sequence[str], str], list[bool]]  # (sentences, language) -> wrong language?


@dataclass(frozen=True)
class Dealing:
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


@dataclass
class Dealt:
    """The files and row counts that `deal` wrote.

    Attributes:
        folder: the folder of the files, such as train.de-en.de.
        rows: (split, pair) -> number of rows written.
        repeated: pair -> number of rows dropped because their pivot sentence is already held out.
        foreign: pair -> number of rows dropped because a side is in the wrong language.
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
    """Return the language of most pairs; ties go to English, then to alphabetical order."""
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
    """Write the training sets, and split off missing validation and test sets.

    A text in more than two languages also gives its untrained pairs a test set, made of rows that
    are test rows of all its trained pairs.

    Args:
        texts: the training texts.
        pairs: the trained pairs.
        given: (split, pair) of the sets that the user has.
        dealing: pivot and shares.
        rules: cleaning rules; a row that a rule removes is not held out.
        folder: output folder.
        misfits: detects sentences in the wrong language; rows with such a sentence are dropped.
    """
    dealt = Dealt(folder)
    folder.mkdir(parents=True, exist_ok=True)
    seen: dict[tuple[str, Pair], set[int]] = {}
    with ExitStack() as stack:
        stack.enter_context(many_open_files())  # six files per pair; 24 languages have 276 pairs
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
    """Return each pair of a text with: is it trained, its missing sets, the pair of its share."""
    trained = [pair for pair in text.pairs() if pair in pairs]
    work = []
    for pair in text.pairs():
        splits = ("valid", "test") if pair in trained else ("test",)
        missing = tuple(split for split in splits if (split, pair) not in given)
        # the smallest share of the trained pairs: they hold out all rows that this share selects
        shared = [other for other in trained if other in dealing.shares]
        of = pair if pair in trained else max(shared, key=dealing.shares.__getitem__, default=pair)
        if pair in trained or (missing and shared):
            work.append((pair, (pair in trained, missing, of)))
    return work


def _rows(text: Text, misfits: Misfits | None) -> Iterator[tuple[dict[str, str], frozenset[str]]]:
    """Yield each row by language, with the languages whose sentence fails the detector."""
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
    """Copy the user's validation sets of trained pairs and test sets of all pairs.

    Returns:
        Split, pair and number of rows of each set.
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
