"""What the benchmarks of a source's states print, of a small model."""

import first_stage_drift
import pytest
import states_across_languages
import torch
from support.prepared import prepared, trained


@pytest.fixture
def table(monkeypatch, capsys):
    def run(benchmark, *words):
        monkeypatch.setattr("sys.argv", ["x", *map(str, (prepared().root, *words))])
        benchmark.main()
        lines = capsys.readouterr().out.splitlines()
        return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]

    return run


def test_the_nearest_is_counted_and_the_shift_is_in_units_of_the_spread():
    centre, compare = torch.tensor([[3.0, 1], [1, 3], [2, 2]]), states_across_languages.compare
    assert compare(centre, centre) == (pytest.approx(100), 0)
    assert compare(centre[[1, 0, 2]], centre)[0] == pytest.approx(100 / 3)
    # twice as far from the origin has the same direction; the mean moves by (2, 2)
    spread = pytest.approx((8 / (4 / 3)) ** 0.5)
    assert compare(2 * centre, centre) == (pytest.approx(100), spread)


def test_states_across_languages(table):
    head, *rows = table(states_across_languages, trained(), "--sentences", "5")
    assert head == ["checkpoint", "layer", "same %", "shift"]
    assert [int(row[1]) for row in rows] == list(range(1, len(rows) + 1))
    assert all(0 <= float(row[2]) <= 100 and float(row[3]) > 0 for row in rows)


def test_first_stage_drift(table):
    identity = trained("--tdo-init", "identity-stage1", "--max-update", "1", "--lr", "1e-9")
    head, begun, later = table(first_stage_drift, trained(), identity, "--direction", "de-en")
    assert head == list(first_stage_drift.HEAD)
    assert [int(begun[0]), int(later[0])] == [1, 150]
    # a first stage that is the identity hands on its own words, with their positions
    assert float(begun[1]) > 90 and float(begun[2]) > 0.5
    assert float(later[4]) < float(begun[4])
