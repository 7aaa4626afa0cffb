"""Make cleaned training, validation and test sets from the texts of a folder.

RUN/unpacked, RUN/columns   text of archives and of tables
RUN/split                   train.de-en.de and so on, before cleaning
RUN/data                    the data folder; RUN/data/work/text has the cleaned text
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tdo_plugin.corpora import preparing
from tdo_plugin.corpora.description import Corpus as Description
from tdo_plugin.corpora.description.schema import Rule
from tdo_plugin.corpora.own import describe
from tdo_plugin.corpora.pair_rows import Making, Record
from tdo_plugin.corpora.rows.readers.lines import read_lines
from tdo_plugin.corpora.sources.fetch import default_cache
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import replaced_folder
from tdo_plugin.runtime.lock import alone
from tdo_plugin.start.choices import Corpus
from tdo_plugin.start.recognised_text import Found, Pair, Text
from tdo_plugin.start.split_plan import SHARES, SplitPlan, plan_splits
from tdo_plugin.start.split_writer import WrittenSplits, WrongLanguage, copy_sets, write_splits
from tdo_plugin.start.text_sizes import Sizes
from tdo_plugin.start.zero_shot_tests import join_tests

LONGEST_TEST = 1022  # pieces; plus tag and end-of-sentence, the models' maximum positions
LONGEST, MOST_UNEVEN = 1000, 9  # characters of a sentence; ratio of the sides' lengths
# a row that one of these rules removes is not held out either
ROW_RULES = (
    Rule("empty"),
    Rule("unreadable"),
    Rule("length", least=1, most=LONGEST, unit="characters"),
    Rule("ratio", most=MOST_UNEVEN, unit="characters"),
)
CLEAN = {
    "train": (*ROW_RULES, Rule("duplicates"), Rule("held-out")),
    "valid": (Rule("empty"), Rule("held-out")),
    "test": (Rule("empty"),),
}


@dataclass(frozen=True)
class Sets:
    """The sets of a run before cleaning.

    Attributes:
        plan: pivot and shares of the split.
        written: the sets written by the split.
        given: (split, pair, number of rows) of the sets that the user has.
        joined: (pair, pivot language, number of rows) of test sets joined over a shared language.
    """

    plan: SplitPlan
    written: WrittenSplits
    given: Sequence[tuple[str, Pair, int]]
    joined: Sequence[tuple[Pair, str, int]]


def lines_of(texts: Iterable[Text], pairs: Collection[Pair], sizes: Sizes) -> dict[Pair, int]:
    """Return the number of lines of training text for each pair."""
    counts = dict.fromkeys(pairs, 0)
    for text in texts:
        for pair in text.pairs():
            if pair in counts:
                counts[pair] += sizes[text.name][pair[0]].lines
    return counts


def make_sets(
    found: Found,
    pairs: Sequence[Pair],
    sizes: Sizes,
    run: Path,
    wrong_language: WrongLanguage | None,
) -> Sets:
    """Write the sets of all pairs to RUN/split; missing sets are split off the training text.

    Args:
        found: the texts, as one plain file per language.
        pairs: the trained pairs.
        sizes: sizes of the texts.
        run: the run folder.
        wrong_language: see `write_splits`.

    Raises:
        UserError: a pair has too few sentences, or too few different sentences.
    """
    training = [text for text in found.texts if text.split in (None, "train")]
    held_out = [text for text in found.texts if text.split in ("valid", "test")]
    languages = sorted({language for pair in pairs for language in pair})
    given = {(str(text.split), pair) for text in held_out for pair in text.pairs()}
    lines = lines_of(training, pairs, sizes)
    plan = plan_splits(pairs, lines, given, run / SHARES)
    with replaced_folder(run / "split") as folder:
        written = write_splits(training, pairs, given, plan, ROW_RULES, folder, wrong_language)
        _check_written(written, pairs, given)
        copied = copy_sets(held_out, pairs, languages, folder)
        joined = join_tests(folder, languages)
    return Sets(plan, replace(written, folder=run / "split"), copied, joined)


def _check_written(
    written: WrittenSplits, pairs: Iterable[Pair], given: Collection[tuple[str, Pair]]
) -> None:
    """Raise UserError if a set of a pair is empty after the split."""
    for pair in pairs:
        for split in ("train", "valid", "test"):
            if not ((split, pair) in given or written.rows[split, pair]):
                count = written.foreign[pair]
                foreign = f", of which {count:,} have a side in another language" if count else ""
                raise UserError(
                    f"`TEXT` must hold more clean and different sentence pairs of "
                    f"{'-'.join(pair)}; no {split} set can be taken from those it has{foreign}"
                )


def refuse_long_tests(data: Path) -> None:
    """Refuse test sentences that are too long for the models, before training starts.

    Args:
        data: a complete data folder.

    Raises:
        UserError: a test set has a sentence that is too long.
    """
    for path in sorted((data / "pieces").glob("test.*")):
        for line in read_lines(path, "utf-8"):
            if (pieces := len(line.split())) > LONGEST_TEST:
                raise UserError(
                    f"`TEXT` must have test sentences of at most {LONGEST_TEST:,} pieces; in "
                    f"{path.name}, the one that begins with "
                    f"{join_pieces(line[:200])[:40]!r} has {pieces:,}: shorten, split or remove it"
                )


def split_description(
    run: Path, title: str, vocab_size: int = 8000
) -> tuple[Description, dict[str, Path]]:
    """Return the description of the corpus in RUN/split, and its files."""
    settings: dict[str, Any] = {"model_type": "unigram", "vocab_size": vocab_size}
    corpus, files = describe(run / "split", None, settings)
    return replace(corpus, title=title, clean=CLEAN), files


def clean(corpus: Description, files: Mapping[str, Path], run: Path, workers: int) -> list[Record]:
    """Clean all sets; `preparing.prepare` then skips this step.

    Returns:
        The number of rows read, kept and removed for each set.

    Raises:
        UserError: a set is empty after cleaning.
    """
    out = run / "data"
    with alone(out):
        texts, source = preparing.gather(corpus, default_cache(), files, out / "work", _silent)
        return preparing.make_splits(Making(corpus, texts, source, out), workers, _silent)


def corpus_of(records: Iterable[Record], sizes: Sizes) -> Corpus:
    """Return the corpus statistics that the choices depend on.

    Args:
        records: cleaning records of all sets.
        sizes: sizes of all texts, before cleaning.
    """
    pairs = {record.pair: record.kept for record in records if record.split == "train"}
    languages = sorted({language for pair in pairs for language in pair})
    counted = [of[language] for of in sizes.values() for language in languages if language in of]
    lines = sum(size.lines for size in counted)
    return Corpus(
        pairs=pairs,
        languages=tuple(languages),
        pieces=sum(size.pieces * size.lines for size in counted) / lines,
        alphabet=len(frozenset().union(*(size.alphabet for size in counted))),
    )


def _silent(_: str) -> None:
    """Discard progress messages; the caller prints the result."""
