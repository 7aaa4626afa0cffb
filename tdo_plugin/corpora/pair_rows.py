"""Rows of one split of one pair: read, sampled, cleaned, tokenized, and written as text.

In the data folder:

    work/tokens/train.X-Y.X     the text of the text folder, before any truecasing
    work/held-out/test.X-Y.X    valid and test sentences before tokenization
    work/chosen/X-Y.json        rows of train that are held out for other splits
    work/splits/train.X-Y.json  the record of a split: the rows that each rule removed (see `Steps`)
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from tdo_plugin.corpora.description import HELD_OUT, Corpus, Member, Pair, Row, Rule
from tdo_plugin.corpora.rows.cleaning import Cleaner, HeldOut
from tdo_plugin.corpora.rows.readers import read
from tdo_plugin.corpora.rows.row_sampling import choose, generator
from tdo_plugin.data.sampling import draw
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.metrics.textform import TextForm
from tdo_plugin.runtime.files import complete_file, write_text
from tdo_plugin.runtime.jobs import map_in_order
from tdo_plugin.runtime.steps import Step, described
from tdo_plugin.typed import read_json

CHUNK = 10_000  # rows that a process tokenizes at a time
TOKENS, TEXTS = "tokens", "held-out"

Item = tuple[str, str, str, str]  # tokens of both sides, then their text
Any_ = TypeVar("Any_")


@dataclass(frozen=True)
class Making:
    """The context that every split of a corpus needs.

    Attributes:
        corpus: the description.
        files: of each text of the source.
        source: a digest of these files.
        out: the data folder.
        processes: that one split may use.
    """

    corpus: Corpus
    files: Mapping[Member, tuple[Path, ...]]
    source: str
    out: Path
    processes: int = 1

    @property
    def work(self) -> Path:
        """The folder for everything that is not part of the data folder itself."""
        return self.out / "work"

    def tokens(self, split: str, pair: Pair, language: str) -> Path:
        """The text of one side, as in the text folder."""
        return self.work / TOKENS / f"{split}.{'-'.join(pair)}.{language}"

    def held_out(self, split: str, pair: Pair, language: str) -> Path:
        """The same before tokenization, for valid and test sets."""
        return self.work / TEXTS / f"{split}.{'-'.join(pair)}.{language}"


@dataclass(frozen=True)
class Record:
    """The outcome of cleaning a split.

    Attributes:
        split: train, valid or test.
        pair: of the rows.
        read: number of rows in the source.
        taken: number of rows that each rule removed, in order.
        kept: number of remaining rows.
    """

    split: str
    pair: Pair
    read: int
    taken: Mapping[str, int]
    kept: int


def split_step(making: Making, split: str, pair: Pair, held_out: HeldOut | None, seen: str) -> Step:
    """The step that writes one split of one pair; its facts are those of a `Record`.

    Args:
        making: see `Making`.
        split: train, valid or test.
        pair: as in the description.
        held_out: sentences that the rules exclude.
        seen: a digest of these.

    Raises:
        UserError: (when the step is run) the source's text has a mistake.
    """
    depends = {"key": _key(making, split, pair, seen)}
    make = partial(_make, making, split, pair, held_out)
    return Step(f"{split}.{'-'.join(pair)}", depends, make)


def _make(
    making: Making, split: str, pair: Pair, held_out: HeldOut | None, folder: Path
) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    if _is_held(making.corpus, split, pair):
        items = _held(making, split, pair, counts)
    else:
        items = _cleaned(making, split, pair, counts)
    strict = [rule for rule in making.corpus.clean[split] if rule.rule in HELD_OUT]
    items = _filtered(items, strict, pair, held_out, making.work, counts)
    items = _limited(items, making.corpus.limit.get(split), counts)
    kept = _write(folder / "work", split, pair, items)
    return {"read": counts.pop("read"), "taken": dict(counts), "kept": kept}


def _is_held(corpus: Corpus, split: str, pair: Pair) -> bool:
    hold_out = corpus.hold_out
    return bool(hold_out and pair in hold_out.pairs and getattr(hold_out, split, None))


def _key(making: Making, split: str, pair: Pair, seen: str) -> str:
    """A digest of everything that the rows depend on."""
    corpus = making.corpus
    sources = [split] if not _is_held(corpus, split, pair) else ["train"]
    sets = [concrete_set for source in sources for concrete_set in corpus.sets_of(source, pair)]
    form = corpus.form
    chosen = (corpus.clean, corpus.sample, corpus.hold_out, corpus.limit)
    parts = (sets, *chosen, form, form.tokenizers(pair))
    return hashlib.sha256(described((making.source, seen, split, parts)).encode()).hexdigest()


def _cleaned(making: Making, split: str, pair: Pair, counts: Counter[str]) -> Iterator[Item]:
    """The remaining rows of a split of the source; for train, without held-out rows."""
    chosen = _chosen(making, pair) if split == "train" else {}
    out = {number for numbers in chosen.values() for number in numbers}
    if out:
        counts["held out of them"] = len(out)
    rules = _loose(making.corpus.clean[split])
    return _read(making, split, pair, rules, counts, lambda number: number not in out)


def _loose(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that check single rows, and not other sets."""
    return [rule for rule in rules if rule.rule not in HELD_OUT]


def _read(
    making: Making,
    split: str,
    pair: Pair,
    rules: list[Rule],
    counts: Counter[str],
    is_selected: Callable[[int], bool],
) -> Iterator[Item]:
    """Rows of the source, sampled, cleaned by rules on single rows, and tokenized.

    `is_selected` gets the numbers of clean rows, from 0, and selects the rows to yield. Only these
    are tokenized, unless a rule is on tokens.
    """
    corpus = making.corpus
    cleaner = Cleaner(rules, pair, None, making.work)
    counts["read"] = 0  # set even if there are no rows
    left_out: Counter[str] = Counter()
    rows = _counted(_rows(making, split, pair, left_out), counts)
    if split == "train" and corpus.sample:
        total = sum(1 for _ in _rows(making, split, pair, Counter()))
        chance = generator(corpus.sample.seed, pair, "sample")
        most = min(corpus.sample.pairs, total)
        rows = draw(rows, total, most, chance)
        counts["not drawn"] = total - most
    rows = cleaner.before_tokens(rows)
    on_tokens = any(rule.unit == "tokens" for rule in rules)
    if not on_tokens:
        rows = _numbered(rows, is_selected)
    items = cleaner.after_tokens(tokenized(rows, pair, corpus.form, making.processes))
    yield from _numbered(items, is_selected) if on_tokens else items
    counts["read"] += left_out.total()
    counts.update(left_out)
    counts.update(cleaner.counts)


def _numbered(items: Iterable[Any_], is_selected: Callable[[int], bool]) -> Iterator[Any_]:
    return (item for number, item in enumerate(items) if is_selected(number))


def _rows(making: Making, split: str, pair: Pair, left_out: Counter[str]) -> Iterator[Row]:
    for concrete_set in making.corpus.sets_of(split, pair):
        yield from read(concrete_set, making.files, making.work, left_out)


def _counted(rows: Iterable[Row], counts: Counter[str]) -> Iterator[Row]:
    for row in rows:
        counts["read"] += 1
        yield row


def tokenized(
    rows: Iterable[Row], pair: Pair, form: TextForm, processes: int = 1
) -> Iterator[Item]:
    """Each row as its tokens followed by its text.

    Args:
        rows: of the pair.
        pair: their languages.
        form: of the text.
        processes: at a time; none is started if the text stays unchanged.
    """
    if not form.tokenizes:
        return ((*row, *row) for row in rows)
    tokenize = partial(_tokenized, form, pair)
    return chain.from_iterable(map_in_order(tokenize, in_chunks(rows), processes))


def _tokenized(form: TextForm, pair: Pair, chunk: Sequence[Row]) -> list[Item]:
    sides = list(zip(*chunk, strict=True))
    done = [form.tokenized(lines, code) for lines, code in zip(sides, pair, strict=True)]
    return list(zip(*done, *sides, strict=True))


def in_chunks(items: Iterable[Any_]) -> Iterator[list[Any_]]:
    """Lists of `CHUNK` items."""
    waiting = iter(items)
    return iter(lambda: list(islice(waiting, CHUNK)), [])


def _filtered(
    items: Iterable[Item],
    rules: list[Rule],
    pair: Pair,
    held_out: HeldOut | None,
    scratch: Path,
    counts: Counter[str],
) -> Iterator[Item]:
    """Items that pass the rules on their text."""
    cleaner = Cleaner(rules, pair, held_out, scratch)
    yield from (item for item in items if cleaner.lets_pass((item[2], item[3])))
    counts.update(cleaner.counts)


def _chosen(making: Making, pair: Pair) -> dict[str, set[int]]:
    """Cleaned training rows that are held out for other splits, by split."""
    corpus = making.corpus
    if corpus.hold_out is None or pair not in corpus.hold_out.pairs:
        return {}
    path = making.work / "chosen" / f"{'-'.join(pair)}.json"
    key = _key(making, "train", pair, "held-out")
    try:
        stored = read_json(path)
        if stored["key"] == key:
            return {split: set(numbers) for split, numbers in stored["rows"].items()}
    except (OSError, ValueError):
        pass
    rules = _loose(corpus.clean["train"])
    counts: Counter[str] = Counter()
    deque(_read(making, "train", pair, rules, counts, lambda _: False), maxlen=0)
    total = counts.pop("read") - counts.total()
    chosen: dict[str, set[int]] = {}
    for split in ("valid", "test"):
        take = getattr(corpus.hold_out, split)
        if take is not None:
            taken = {number for numbers in chosen.values() for number in numbers}
            chance = generator(corpus.hold_out.seed, pair, split)
            chosen[split] = choose(take, total, chance, taken)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {split: sorted(numbers) for split, numbers in chosen.items()}
    write_text(path, [json.dumps({"key": key, "rows": rows})])
    return chosen


def _held(making: Making, split: str, pair: Pair, counts: Counter[str]) -> Iterator[Item]:
    """Cleaned training rows that are held out for this split."""
    rules = _loose(making.corpus.clean["train"])
    return _read(making, "train", pair, rules, counts, _chosen(making, pair)[split].__contains__)


def _limited(items: Iterable[Item], limit: int | None, counts: Counter[str]) -> Iterator[Item]:
    """The first items; the rest are read too, so that the counts of rules are complete."""
    for number, item in enumerate(items):
        if limit is None or number < limit:
            yield item
        else:
            counts["over the limit"] += 1


def _write(work: Path, split: str, pair: Pair, items: Iterable[Item]) -> int:
    """Write both sides, for valid and test sets also their text; returns the number of rows."""
    folders = [TOKENS] if split == "train" else [TOKENS, TEXTS]
    paths = [
        work / folder / f"{split}.{'-'.join(pair)}.{language}"
        for folder in folders
        for language in pair
    ]
    kept = 0
    with ExitStack() as stack:
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        streams = [stack.enter_context(complete_file(path)) for path in paths]
        for item in items:
            for stream, line in zip(streams, item, strict=False):
                stream.write(line + "\n")
            kept += 1
    return kept


def remember(making: Making, split: str, pair: Pair, held_out: HeldOut) -> None:
    """Add a finished valid or test set to the held-out sentences."""
    sides = [read_lines(making.held_out(split, pair, language)) for language in pair]
    for row in zip(*sides, strict=True):
        held_out.add_pair(pair, row)
        for language, text in zip(pair, row, strict=True):
            held_out.add(language, text)
