"""The shapes that the benchmark counts are those of the batches."""

import batch_shapes as benchmark
from support.prepared import prepared


def test_counts_of_an_epoch(capsys):
    batches = list(benchmark.batches_of(prepared(), 200))
    assert sum(batch.sentences for batch in batches) == 240  # 4 directions of 60
    row = dict(zip(benchmark.HEAD, benchmark.row_of(batches, 1), strict=True))
    assert row["batches"] == len(batches)
    assert row["second stage"] == len({(b.sentences, b.source, b.target) for b in batches})
    benchmark.main([str(prepared().root), "--max-tokens", "200"])
    one, eight = (line.split("|") for line in capsys.readouterr().out.splitlines()[-2:])
    assert [cell.strip() for cell in one[1:3]] == ["1", str(len(batches))]
    assert float(eight[6]) > float(one[6])


def test_lengths_are_rounded_up():
    batches = [benchmark.Batch(8, 5, 8, 90), benchmark.Batch(8, 7, 3, 70)]
    assert [batch.rounded(8) for batch in batches] == [(8, 8, 8)] * 2
    assert benchmark.row_of(batches, 8) == (8, 2, 1, 1, 1, 100 * (1 - 160 / 256))
