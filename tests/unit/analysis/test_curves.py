"""Scores over updates."""

import json
from pathlib import Path

import pytest

from tdo_plugin.analysis.curves import draw_curves, read_curve
from tdo_plugin.errors import UserError


def write(path: Path, *rows: tuple[int, str, float, float | None]) -> Path:
    """Lines of an update, a direction, BLEU and, but for None, the off-target share."""
    lines = []
    for update, direction, bleu, off in rows:
        group = "supervised" if "en" in direction else "zero_shot"
        line = {"update": update, "direction": direction, "group": group, "bleu": bleu}
        lines.append(json.dumps(line if off is None else {**line, "off": off}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_curve_goes_on_from_file_to_file_and_later_lines_count(tmp_path: Path) -> None:
    before = write(
        tmp_path / "before",
        *((100, "de-fr", 1, 90), (100, "fr-de", 3, 70), (100, "en-de", 50, 0)),
    )
    after = write(
        tmp_path / "after",
        *((150, "de-fr", 9, 9), (150, "fr-de", 5, 10), (150, "de-fr", 7, 20)),
    )
    assert read_curve([after, before], "zero-shot") == {
        100: {"bleu": 2, "accuracy": 20},
        150: {"bleu": 6, "accuracy": 85},
    }
    assert read_curve([before], "supervised") == {100: {"bleu": 50, "accuracy": 100}}


def test_what_was_not_measured_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "one", (5, "de-fr", 1, None), (5, "fr-de", 3, 40))
    assert read_curve([path], "zero-shot") == {5: {"bleu": 2, "accuracy": 60}}
    path = write(tmp_path / "two", (5, "de-fr", 1, None))
    assert read_curve([path], "zero-shot") == {5: {"bleu": 1}}


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"update": 1}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text + "\n")
    with pytest.raises(
        UserError, match=r"must be a validation.jsonl of a training; .* is not a validation"
    ):
        read_curve([tmp_path / "x"], "zero-shot")


def test_a_missing_file_or_group_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        read_curve([tmp_path / "none"], "zero-shot")
    path = write(tmp_path / "one", (5, "en-fr", 1, 2))
    with pytest.raises(UserError, match=r"must have zero-shot directions; .*one does not"):
        read_curve([path], "zero-shot")


def test_scores_of_several_subsets_are_no_curve(tmp_path: Path) -> None:
    """Neither of trainings that follow on one another, nor of one that went on with another set."""
    valid = write(tmp_path / "valid", (5, "de-fr", 1, 2))
    text = write(tmp_path / "test", (6, "de-fr", 1, 2)).read_text(encoding="utf-8")
    test = tmp_path / "test"
    test.write_text(text.replace("{", '{"subset": "test", ', 1), encoding="utf-8")
    message = "lacks one subset of de-fr: it has valid and test$"
    with pytest.raises(UserError, match=message):
        read_curve([valid, test], "zero-shot")
    both = tmp_path / "both"
    both.write_text(valid.read_text(encoding="utf-8") + test.read_text(encoding="utf-8"))
    with pytest.raises(UserError, match=message):
        read_curve([both], "zero-shot")
    assert list(read_curve([test], "zero-shot")) == [6]


def test_a_picture_has_a_line_for_each_name(tmp_path: Path) -> None:
    curves = {"6 layers": {1: {"bleu": 2.0}, 2: {"bleu": 3.0}}, "12 layers": {1: {"bleu": 1.0}}}
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for path in (first, second):
        draw_curves(curves, ["bleu"], "zero-shot", path)
    drawn = first.read_text(encoding="utf-8")
    for text in ("6 layers", "12 layers", "BLEU", "updates", "zero-shot"):
        assert f">{text}<" in drawn
    assert first.read_bytes() == second.read_bytes()
