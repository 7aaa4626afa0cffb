"""Sizes of binarised sets, against files that fairseq's own builder writes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tdo_compat.digests import DamagedData
from tdo_plugin.data import inventory
from tdo_plugin.data.inventory import BOUNDS, UNKNOWN, Side, by_direction, by_language, read_sets
from tdo_plugin.errors import UserError

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder

    def build(name: str, *sentences: list[int], dtype: type = np.uint16) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        builder = MMapIndexedDatasetBuilder(f"{path}.bin", dtype=dtype)
        for sentence in sentences:
            builder.add_item(torch.tensor([*sentence, 2]))
        builder.finalize(f"{path}.idx")

    return build


def counted(*sentences: list[int]) -> Side:
    """The same by plain counting."""
    lengths = [len(sentence) for sentence in sentences]
    bars = [0] * (len(BOUNDS) + 1)
    for length in lengths:
        bars[next((i for i, most in enumerate(BOUNDS) if length <= most), len(BOUNDS))] += 1
    return Side(
        len(lengths),
        sum(lengths),
        sum(sentence.count(UNKNOWN) for sentence in sentences),
        max(lengths, default=0),
        tuple(bars),
    )


EN = [[4, 5, UNKNOWN], [6] * 10, [7] * 11, []]
DE = [[UNKNOWN, UNKNOWN], [8] * 100, [9] * 1001, [4]]


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_a_pair_is_counted_on_both_sides(
    tmp_path: Path, write: Write, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inventory, "CHUNK", 64)
    write("train.en-de.en", *EN, dtype=dtype)
    write("train.en-de.de", *DE, dtype=dtype)
    (pair_set,) = read_sets([tmp_path])
    assert (pair_set.split, pair_set.pair) == ("train", ("en", "de"))
    assert pair_set.sides == {"en": counted(*EN), "de": counted(*DE)}
    sizes = by_direction([pair_set], "train")
    assert sizes == {
        "en-de": (counted(*EN), counted(*DE)),
        "de-en": (counted(*DE), counted(*EN)),
    }


def test_a_direction_has_its_own_set_first(tmp_path: Path, write: Write) -> None:
    for pair, english, german in (("de-en", EN[:2], DE[:2]), ("en-de", EN, DE)):
        write(f"test.{pair}.en", *english)
        write(f"test.{pair}.de", *german)
    assert by_direction(read_sets([tmp_path]), "test") == {
        "de-en": (counted(*DE[:2]), counted(*EN[:2])),
        "en-de": (counted(*EN), counted(*DE)),
    }


def test_a_language_has_all_its_pairs_and_only_that_split(tmp_path: Path, write: Write) -> None:
    for pair in ("en-de", "fr-en"):
        for language in pair.split("-"):
            write(f"train.{pair}.{language}", *(EN if language == "en" else DE))
    for language in ("en", "de"):
        write(f"valid.en-de.{language}", [4])
    sets = read_sets([tmp_path])
    assert by_language(sets, "train") == {
        "en": counted(*EN, *EN),
        "de": counted(*DE),
        "fr": counted(*DE),
    }
    assert by_language(sets, "valid") == {"en": counted([4]), "de": counted([4])}


def test_shards_add_to_training_only(tmp_path: Path, write: Write) -> None:
    for shard, sentences in (("a", EN), ("b", DE)):
        for split in ("train", "valid"):
            write(f"{shard}/{split}.en-de.en", *sentences)
            write(f"{shard}/{split}.en-de.de", *sentences)
    train, valid = read_sets([tmp_path / "a", tmp_path / "b"])
    assert train.sides["en"] == counted(*EN, *DE)
    assert valid.sides["en"] == counted(*EN)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda path: path.with_name("test.en-de.de.bin").unlink(),
            r"must have .*test.en-de.de.bin",
        ),
        (
            lambda path: path.with_name("test.en-de.de.idx").unlink(),
            r"must have .*test.en-de.de.idx",
        ),
        (
            lambda path: cut(path.with_name("test.en-de.en.bin"), 2),
            r"en.bin of set test.en-de is damaged: it has 54 bytes, but 56 by its index",
        ),
        (
            lambda path: cut(path.with_name("test.en-de.en.idx"), 1),
            r"en.idx of set test.en-de is damaged: it has 73 bytes, but 74",
        ),
        (
            lambda path: path.with_name("test.en-de.en.idx").write_bytes(b"TNTIDX\0\0" + bytes(99)),
            r"is not an index of fairseq \(--dataset-impl mmap\)",
        ),
        (
            lambda path: path.with_name("test.en-de.en.idx").write_bytes(b""),
            r"en.idx .*: it is empty",
        ),
    ],
)
def test_broken_files_are_named(
    tmp_path: Path, write: Write, spoil: Callable[[Path], object], message: str
) -> None:
    for language in ("en", "de"):
        write(f"test.en-de.{language}", *EN)
    spoil(tmp_path / "test")
    with pytest.raises((UserError, DamagedData), match=message):
        read_sets([tmp_path])


def cut(path: Path, count: int) -> None:
    path.write_bytes(path.read_bytes()[:-count])


def test_sides_must_be_as_long(tmp_path: Path, write: Write) -> None:
    write("test.en-de.en", *EN)
    write("test.en-de.de", *EN, [4])
    with pytest.raises(DamagedData, match=r"it has 4 sentences, .*test.en-de.de.idx 5"):
        read_sets([tmp_path])


def test_a_folder_without_sets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"`DATA` must have binarised sets"):
        read_sets([tmp_path])
