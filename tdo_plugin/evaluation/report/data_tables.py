"""The contents of a data folder as tables and as a histogram."""

from __future__ import annotations

from collections.abc import Sequence

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.inventory import BOUNDS, BinarisedSet, Side, by_direction, by_language
from tdo_plugin.evaluation.published.corpus_sizes import CorpusSizes
from tdo_plugin.evaluation.report.table import ABSENT, Block, Cell, Column, Row, Table, number

Sides = dict[str, tuple[Side, Side]]

SPLITS = ("train", "valid", "test")
BAR = "█"


def directions_table(data: DataFolder, sets: Sequence[BinarisedSet]) -> Table:
    """Sentences and tokens of every direction, trained directions first.

    Source and target lengths are in tokens. A direction may lack a training or test set although
    the reverse direction has one.
    """
    by_split = {split: by_direction(sets, split) for split in SPLITS}
    by_split["train"] = _only(by_split["train"], data.directions)
    by_split["test"] = _only(by_split["test"], data.test_directions)
    splits = [split for split in SPLITS if by_split[split]]
    names = dict.fromkeys(name for split in splits for name in by_split[split])
    rows = {
        name: Row(
            (name,), tuple(cell for split in splits for cell in _cells(by_split[split], name))
        )
        for name in names
    }
    blocks = [
        Block(tuple(row for name, row in rows.items() if data.kind(name) == kind), kind)
        for kind in ("supervised", "zero-shot")
    ]
    return Table(
        key="directions",
        title="Directions",
        heads=("direction",),
        columns=tuple(
            Column(split, name) for split in splits for name in ("sentences", "source", "target")
        ),
        blocks=tuple(block for block in blocks if block.rows),
    )


def _only(sides: Sides, names: Sequence[str]) -> Sides:
    return {name: sides[name] for name in names if name in sides}


def _cells(sides: Sides, direction: str) -> list[Cell]:
    if direction not in sides:
        return [Cell(ABSENT)] * 3
    source, target = sides[direction]
    return [_count(value) for value in (source.sentences, source.tokens, target.tokens)]


def _count(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def languages_table(
    data: DataFolder, sets: Sequence[BinarisedSet], counted: CorpusSizes | None = None
) -> Table:
    """Training text of every language over all its pairs, and the share of unknown tokens.

    Args:
        data: the folder.
        sets: its binarised sets.
        counted: a paper's counts of the corpus, for an additional column.
    """
    by_split = {split: by_language(sets, split) for split in SPLITS}
    splits = [split for split in SPLITS if by_split[split]]
    rows = []
    for language in data.languages:
        side = by_split["train"].get(language, Side())
        cells = [
            _count(side.sentences),
            *([] if counted is None else [_published(counted, language)]),
            _count(side.tokens),
            Cell(number(side.tokens / max(1, side.sentences), 1)),
            _count(side.longest),
            *(_share(by_split[split].get(language)) for split in splits),
        ]
        rows.append(Row((language,), tuple(cells)))
    beside = () if counted is None else (counted.source,)
    sizes = ("sentences", *beside, "tokens", "tokens/sentence", "longest")
    return Table(
        key="languages",
        title="Languages",
        heads=("language",),
        columns=(
            *(Column("train", name) for name in sizes),
            *(Column("unknown, %", split) for split in splits),
        ),
        blocks=(Block(tuple(rows)),),
    )


def _published(counted: CorpusSizes, language: str) -> Cell:
    size = counted.pairs.get(language)
    return Cell(ABSENT) if size is None else _count(size)


def _share(side: Side | None) -> Cell:
    if side is None or not side.tokens:
        return Cell(ABSENT)
    share = 100 * side.unknown / side.tokens
    return Cell(number(share, 3) if share else "0", share)


def histogram(side: Side, width: int) -> list[str]:
    """One line per range of lengths in tokens, with a bar proportional to the sentences.

    Args:
        side: the sentences.
        width: width of the lines, in characters.
    """
    lengths = side.lengths[: sum(bound < side.longest for bound in BOUNDS) + 1]
    starts = (1, *(bound + 1 for bound in BOUNDS))
    names = [f"{a}-{b}" for a, b in zip(starts, BOUNDS, strict=False)] + [f"{starts[-1]}-"]
    counts = [f"{count:,}" for count in lengths]
    left, middle = max(map(len, names[: len(lengths)])), max(map(len, counts))
    room = max(1, width - left - middle - 4)
    most = max(1, *lengths)
    return [
        f"{name:>{left}}  {count:>{middle}}  {BAR * round(room * length / most)}".rstrip()
        for name, count, length in zip(names, counts, lengths, strict=False)
    ]
