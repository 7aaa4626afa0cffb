"""Sizes of binarised sets, against files that fairseq's own builder writes."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tdo_plugin.data import inventory
from tdo_plugin.data.inventory import BOUNDS, UNKNOWN, Side, by_direction, by_language, read_sets

Write = Callable[..., None]


@pytest.fixture
def write(tmp_path):
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
    unknown = sum(sentence.count(UNKNOWN) for sentence in sentences)
    return Side(len(lengths), sum(lengths), unknown, max(lengths, default=0), tuple(bars))


EN = [[4, 5, UNKNOWN], [6] * 10, [7] * 11, []]
DE = [[UNKNOWN, UNKNOWN], [8] * 100, [9] * 1001, [4]]


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
def test_a_pair_is_counted_on_both_sides(tmp_path, write, dtype, monkeypatch):
    monkeypatch.setattr(inventory, "CHUNK", 64)
    write("train.en-de.en", *EN, dtype=dtype)
    write("train.en-de.de", *DE, dtype=dtype)
    (pair_set,) = read_sets([tmp_path])
    assert (pair_set.split, pair_set.pair) == ("train", ("en", "de"))
    english, german = counted(*EN), counted(*DE)
    assert pair_set.sides == {"en": english, "de": german}
    both = {"en-de": (english, german), "de-en": (german, english)}
    assert by_direction([pair_set], "train") == both


def test_a_direction_has_its_own_set_first(tmp_path, write):
    for pair, english, german in (("de-en", EN[:2], DE[:2]), ("en-de", EN, DE)):
        write(f"test.{pair}.en", *english)
        write(f"test.{pair}.de", *german)
    assert by_direction(read_sets([tmp_path]), "test") == {
        "de-en": (counted(*DE[:2]), counted(*EN[:2])),
        "en-de": (counted(*EN), counted(*DE)),
    }


def test_a_language_has_all_its_pairs_and_only_that_split(tmp_path, write):
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


def test_shards_add_to_training_only(tmp_path, write):
    for shard, sentences in (("a", EN), ("b", DE)):
        for split in ("train", "valid"):
            write(f"{shard}/{split}.en-de.en", *sentences)
            write(f"{shard}/{split}.en-de.de", *sentences)
    train, valid = read_sets([tmp_path / "a", tmp_path / "b"])
    assert train.sides["en"] == counted(*EN, *DE)
    assert valid.sides["en"] == counted(*EN)


def test_files_that_are_missing_or_do_not_fit_are_named(refused, tmp_path, write):
    for suffix in ("bin", "idx"):
        for language in ("en", "de"):
            write(f"{suffix}/test.en-de.{language}", *EN)
        (tmp_path / suffix / f"test.en-de.de.{suffix}").unlink()
        with refused.raised(f"no {suffix}", names=f"test.en-de.de.{suffix}"):
            read_sets([tmp_path / suffix])
    write("longer/test.en-de.en", *EN)
    write("longer/test.en-de.de", *EN, [4])
    with refused.raised("sides of different length", names="4 sentences"):
        read_sets([tmp_path / "longer"])
    with refused.raised("no sets", names="`DATA`"):
        read_sets([tmp_path])
