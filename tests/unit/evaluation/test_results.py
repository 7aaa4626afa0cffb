"""Groups, means and off-target shares of whole systems; tables and the heat map."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation import heatmap, tables
from tdo_plugin.evaluation.language_id import from_training_side
from tdo_plugin.evaluation.results import Report, evaluate


@pytest.fixture
def report(data: DataFolder, decode: Callable[..., Path]) -> Report:
    """`good` repeats the references; `bad` answers zero-shot directions in English."""
    right = {direction: direction.split("-")[1] for direction in data.test_directions}
    systems = {
        "good": decode("good", right),
        "bad": decode("bad", {**right, "de-fr": "en", "fr-de": "en"}),
    }
    return evaluate(data, systems, data.test_directions, from_training_side(data))


def test_groups_and_means(report: Report) -> None:
    assert report.groups == ("en → X", "X → en", "zero-shot")
    good, bad = (report.means(name, "zero-shot") for name in ("good", "bad"))
    assert good is not None and bad is not None
    assert (good.bleu, good.off, good.directions) == (pytest.approx(100), 0, 2)
    assert bad.off == 100
    assert bad.bleu < 10
    supervised = report.means("bad", "en → X")
    assert supervised is not None and supervised.off == 0
    assert report.means("bad", "no such group") is None


def test_wrong_languages_are_counted(report: Report) -> None:
    found = {row.direction: row.languages for row in report.systems["bad"]}
    assert found["de-fr"] == {"en": 3}
    assert found["en-fr"] == {"fr": 3}


def test_json_has_every_number(report: Report) -> None:
    content = report.as_json()
    assert content["systems"]["bad"]["means"]["zero-shot"]["off"] == 100
    assert len(content["systems"]["good"]["directions"]) == 6
    assert "char-ngrams" in content["language_identification"]


def test_tables_show_both_systems(report: Report) -> None:
    summary = tables.summary(report)
    assert [row[0] for row in summary] == ["system", "good", "bad"]
    assert summary[1][3] == "100.0 / 100.0 / 0.0 %"
    assert summary[2][3].endswith(" / 100.0 %")
    assert [row[0] for row in tables.per_direction(report)][1:3] == ["en → de", "en → fr"]
    text = tables.markdown_report(report)
    assert "| good | 100.0 / 100.0 / 0.0 % |" in text
    assert "tok:13a" in text and "nw:2" in text and "held-out-accuracy" in text
    widths = {len(line) for line in tables.terminal([["a", "bb"], ["猫", "cc"]]).splitlines()}
    assert widths == {6, 5}  # the wide character takes two columns


def test_heat_map_is_a_picture(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "heatmap.png"
    heatmap.draw(report, ("en", "de", "fr", "never-tested"), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.glob("heatmap*")] == ["heatmap.png"]


def test_a_missing_direction_is_refused(data: DataFolder, decode: Callable[..., Path]) -> None:
    systems = {"half": decode("half", {"en-de": "de"})}
    with pytest.raises(UserError, match=r"en-fr.generate-test\.txt` must be the output"):
        evaluate(data, systems, ["en-de", "en-fr"], from_training_side(data))
