"""What the benchmarks of a source's states print, of a small model."""

import sys

import first_stage_drift
import pytest
import states_across_languages
import torch
from support.prepared import prepared, trained


def table(text: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]


def test_the_nearest_is_counted_and_the_shift_is_in_units_of_the_spread() -> None:
    centre = torch.tensor([[3.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    assert states_across_languages.compare(centre, centre) == (pytest.approx(100.0), 0.0)
    swapped = centre[[1, 0, 2]]
    assert states_across_languages.compare(swapped, centre)[0] == pytest.approx(100 / 3)
    # twice as far from the origin has the same direction; the mean moves by (2, 2)
    same, shift = states_across_languages.compare(2 * centre, centre)
    assert (same, shift) == (pytest.approx(100.0), pytest.approx((8 / (4 / 3)) ** 0.5))


def test_states_across_languages(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["x", str(prepared().root), str(trained()), "--sentences", "5"]
    monkeypatch.setattr(sys, "argv", words)
    states_across_languages.main()
    head, *rows = table(capsys.readouterr().out)
    assert head == ["checkpoint", "layer", "same %", "shift"]
    assert [int(row[1]) for row in rows] == list(range(1, len(rows) + 1))
    assert all(0 <= float(row[2]) <= 100 and float(row[3]) > 0 for row in rows)


def test_first_stage_drift(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = trained("--tdo-init", "identity-stage1", "--max-update", "1", "--lr", "1e-9")
    words = ["x", str(prepared().root), str(trained()), str(identity), "--direction", "de-en"]
    monkeypatch.setattr(sys, "argv", words)
    first_stage_drift.main()
    head, begun, later = table(capsys.readouterr().out)
    assert head == list(first_stage_drift.HEAD)
    assert [int(begun[0]), int(later[0])] == [1, 150]
    # a first stage that is the identity hands on its own words, with their positions
    assert float(begun[1]) > 90 and float(begun[2]) > 0.5
    assert float(later[4]) < float(begun[4])
