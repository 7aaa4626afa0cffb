"""Parts of a binarised set, joined or dealt out, against what fairseq writes."""

import random
from itertools import islice
from pathlib import Path

import pytest
import torch
from fairseq.data.indexed_dataset import make_builder

from tdo_plugin.data.sharding import join_parts, shard_folders


def write(prefix: Path, rows: list[list[int]], vocabulary: int) -> Path:
    builder = make_builder(f"{prefix}.bin", "mmap", vocabulary)
    for row in rows:
        builder.add_item(torch.IntTensor(row))
    builder.finalize(f"{prefix}.idx")
    return prefix


def contents(prefix: Path) -> list[bytes]:
    return [prefix.with_name(f"{prefix.name}.{suffix}").read_bytes() for suffix in ("bin", "idx")]


@pytest.mark.parametrize("vocabulary", [100, 70_000])
@pytest.mark.parametrize("shards", [1, 2, 5, 40])
def test_sentences_are_dealt_out_in_their_order(tmp_path, vocabulary, shards):
    drawn = random.Random(3)
    rows = [drawn.choices(range(vocabulary), k=drawn.randint(1, 6)) for _ in range(23)]
    left = iter(rows)
    parts = [
        write(tmp_path / f"part{number}", list(islice(left, size)), vocabulary)
        for number, size in enumerate([7, 0, 11, 4, 1])
    ]
    targets = [tmp_path / "out" / folder / "train.en-de.en" for folder in shard_folders(shards)]
    assert join_parts(parts, targets) == 23
    for number, target in enumerate(targets):
        if number >= 23:
            assert not target.parent.exists()
            continue
        expected = write(tmp_path / "whole", rows[number::shards], vocabulary)
        assert contents(target) == contents(expected)


def test_an_empty_set_is_a_set(tmp_path):
    part = write(tmp_path / "part", [], 100)
    assert join_parts([part], [tmp_path / "one", tmp_path / "shard2" / "two"]) == 0
    assert contents(tmp_path / "one") == contents(part)
    assert not (tmp_path / "shard2").exists()
