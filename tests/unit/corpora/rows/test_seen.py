"""Repeated rows, found in little memory."""

import random
import tempfile
import tracemalloc
from collections.abc import Iterator

import pytest

from tdo_plugin.corpora.description.schema import Deal, Row
from tdo_plugin.corpora.rows.seen import _portions, dealt, mark_repeats
from tdo_plugin.errors import UserError

BUCKETS = (9, 100, 5000)


def repetitive(count: int) -> list[Row]:
    """Rows many of which are equal, one of them a third of all."""
    chance = random.Random(1)
    texts = ["", " ", "a", "a\tb", "é", "e\u0301", "\ud800", "\u2028", *map(str, range(60))]
    usual = ("always", "immer")
    return [
        chance.choice([(chance.choice(texts), chance.choice(texts))] * 2 + [usual])
        for _ in range(count)
    ]


@pytest.mark.parametrize("bucket", BUCKETS)
def test_repeats_are_those_of_a_dictionary(bucket, tmp_path):
    rows = repetitive(1000)
    first = {row: number for number, row in reversed([*enumerate(rows)])}
    expected = [(row, first[row] != number) for number, row in enumerate(rows)]
    assert len(first) < 700
    assert list(mark_repeats(rows, tmp_path, bucket)) == expected
    assert list(mark_repeats([], tmp_path, bucket)) == []


@pytest.mark.parametrize("bucket", BUCKETS)
@pytest.mark.parametrize("side", [0, 1])
def test_parts_are_those_of_a_dictionary(bucket, side, tmp_path):
    rows = repetitive(1000)
    first = {row[side]: number for number, row in reversed([*enumerate(rows)])}
    for part in range(3):
        expected = [row for row in rows if first[row[side]] % 3 == part]
        assert list(dealt(rows, Deal(side, 3, part), tmp_path, bucket)) == expected


def test_memory_stays_small(tmp_path):
    count = 12_000
    rows = ((f"{number % 10_000} " + "x" * 1500, "y" * 1500) for number in range(count))
    tracemalloc.start()
    repeated = sum(again for _, again in mark_repeats(rows, tmp_path, bucket=1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert repeated == 2000
    # buffers and blocks; the rows are 36 MB, and their distinct ones 30
    assert peak < 6_000_000


def test_rows_that_are_all_equal_are_not_compared_at_once():
    count, most = 400_000, 10_000
    with tempfile.TemporaryFile() as keys:
        keys.write(bytes(16 * count))
        sizes = [len(rows) for rows, _ in _portions(keys, buckets=80, number=0, most=most)]
        assert not [*_portions(keys, buckets=80, number=1, most=most)]
    assert sum(sizes) == count
    assert max(sizes) < 80_000


def test_nothing_is_left_behind(tmp_path):
    scratch = tmp_path / "new" / "scratch"
    marked = mark_repeats([("a", "b"), ("a", "b"), ("c", "d")], scratch, bucket=1)
    assert next(marked) == (("a", "b"), False)
    # not even while it runs, so that a killed run leaves nothing either
    assert list(scratch.iterdir()) == []
    marked.close()

    def broken() -> Iterator[Row]:
        yield "a", "b"
        raise UserError("the source ends here")

    with pytest.raises(UserError, match="ends here"):
        list(mark_repeats(broken(), scratch))
    assert list(scratch.iterdir()) == []
