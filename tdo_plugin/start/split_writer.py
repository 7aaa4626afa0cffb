"""Write the training sets of a run, and the validation and test sets that are split off them."""

from __future__ import annotations

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
from tdo_plugin.runtime.files import complete_file, many_open_files, write_text
from tdo_plugin.start.recognised_text import Pair, Text
from tdo_plugin.start.split_plan import SplitPlan

CHUNK = 2_000  # rows per call of the language detector

WrongLanguage = Callable[
    [Sequence[str], str], list[bool]
]  # (sentences, language) -> wrong language?


@dataclass
class WrittenSplits:
    """The files and row counts that `write_splits` wrote.

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


def write_splits(
    texts: Iterable[Text],
    pairs: Collection[Pair],
    given: Collection[tuple[str, Pair]],
    plan: SplitPlan,
    rules: Sequence[Rule],
    folder: Path,
    wrong_language: WrongLanguage | None = None,
) -> WrittenSplits:
    """Write the training sets, and split off missing validation and test sets.

    A text in more than two languages also gives its untrained pairs a test set, made of rows that
    are test rows of all its trained pairs.

    Args:
        texts: the training texts.
        pairs: the trained pairs.
        given: (split, pair) of the sets that the user has.
        plan: pivot and shares.
        rules: cleaning rules; a row that a rule removes is not held out.
        folder: output folder.
        wrong_language: detects sentences in the wrong language, whose rows are dropped.
    """
    written = WrittenSplits(folder)
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
            written.rows[split, pair] += 1

        for text in texts:
            work = _of_text(text, pairs, given, plan)
            cleaners = {pair: Cleaner(rules, pair, None, folder) for pair, _ in work}
            for row, foreign in _rows(text, wrong_language):
                sentence = row[plan.of(text)]
                for pair, (trained, missing, share_of) in work:
                    if foreign.intersection(pair):
                        written.foreign[pair] += trained
                        continue
                    split = plan.split(sentence, share_of, missing)
                    if split != "train" and not cleaners[pair].lets_pass(
                        (row[pair[0]], row[pair[1]])
                    ):
                        split = "train"
                    if split != "train":
                        numbers = seen.setdefault((split, pair), set())
                        if (number := number_of(sentence)) in numbers:
                            written.repeated[pair] += 1
                            continue
                        numbers.add(number)
                    if trained or split == "test":
                        write(split, pair, row)
    return written


def _of_text(
    text: Text,
    pairs: Collection[Pair],
    given: Collection[tuple[str, Pair]],
    plan: SplitPlan,
) -> list[tuple[Pair, tuple[bool, tuple[str, ...], Pair]]]:
    """Return each pair of a text with: is it trained, its missing sets, the pair of its share."""
    trained = [pair for pair in text.pairs() if pair in pairs]
    work = []
    for pair in text.pairs():
        splits = ("valid", "test") if pair in trained else ("test",)
        missing = tuple(split for split in splits if (split, pair) not in given)
        # the smallest share of the trained pairs: they hold out all rows that this share selects
        shared = [other for other in trained if other in plan.shares]
        of = pair if pair in trained else max(shared, key=plan.shares.__getitem__, default=pair)
        if pair in trained or (missing and shared):
            work.append((pair, (pair in trained, missing, of)))
    return work


def _rows(
    text: Text, wrong_language: WrongLanguage | None
) -> Iterator[tuple[dict[str, str], frozenset[str]]]:
    """Yield each row by language, with the languages whose sentence fails the detector."""
    languages = text.languages
    sides = [read_lines(text.files[language], "utf-8") for language in languages]
    rows = zip(*sides, strict=True)
    while chunk := [*islice(rows, CHUNK)]:
        foreign: list[set[str]] = [set() for _ in chunk]
        if wrong_language is not None:
            for language, column in zip(languages, zip(*chunk, strict=True), strict=True):
                for number, is_wrong in enumerate(wrong_language(column, language)):
                    if is_wrong:
                        foreign[number].add(language)
        for row, wrong in zip(chunk, foreign, strict=True):
            yield dict(zip(languages, row, strict=True)), frozenset(wrong)


def copy_sets(
    texts: Iterable[Text], pairs: Collection[Pair], languages: Collection[str], folder: Path
) -> list[tuple[str, Pair, int]]:
    """Copy the user's validation sets of trained pairs and test sets of all pairs.

    Returns:
        Split, pair and number of rows of each set.
    """
    copied = []
    for text in texts:
        for pair in text.pairs():
            taken = pair in pairs if text.split == "valid" else {*pair} <= {*languages}
            if not taken:
                continue
            for language in pair:
                path = folder / f"{text.split}.{'-'.join(pair)}.{language}"
                write_text(path, read_lines(text.files[language], "utf-8"))
            copied.append((str(text.split), pair, count_lines(path)))
    return copied
