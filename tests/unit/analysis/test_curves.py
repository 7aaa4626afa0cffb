"""Scores over updates."""

import json
from pathlib import Path

from tdo_plugin.analysis.curves import draw_curves, read_curve


def write(path: Path, *rows: tuple[int, str, float, float | None]) -> Path:
    """Lines of an update, a direction, BLEU and, but for None, the off-target share."""
    lines = []
    for update, direction, bleu, off in rows:
        group = "supervised" if "en" in direction else "zero_shot"
        line = {"update": update, "direction": direction, "group": group, "bleu": bleu}
        lines.append(json.dumps(line if off is None else {**line, "off": off}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_curve_goes_on_from_file_to_file_and_later_lines_count(tmp_path):
    before = write(
        tmp_path / "before", *((100, "de-fr", 1, 90), (100, "fr-de", 3, 70), (100, "en-de", 50, 0))
    )
    after = write(
        tmp_path / "after", *((150, "de-fr", 9, 9), (150, "fr-de", 5, 10), (150, "de-fr", 7, 20))
    )
    assert read_curve([after, before], "zero-shot") == {
        100: {"bleu": 2, "accuracy": 20},
        150: {"bleu": 6, "accuracy": 85},
    }
    assert read_curve([before], "supervised") == {100: {"bleu": 50, "accuracy": 100}}


def test_what_was_not_measured_is_missing(tmp_path):
    path = write(tmp_path / "one", (5, "de-fr", 1, None), (5, "fr-de", 3, 40))
    assert read_curve([path], "zero-shot") == {5: {"bleu": 2, "accuracy": 60}}
    path = write(tmp_path / "two", (5, "de-fr", 1, None))
    assert read_curve([path], "zero-shot") == {5: {"bleu": 1}}


def test_what_is_refused(tmp_path, refused):
    path = tmp_path / "x"
    with refused.raised("no file", names="No such file"):
        read_curve([path], "zero-shot")
    for text in ("{", "[]", "1", '{"update": 1}'):
        path.write_text(text + "\n")
        with refused.raised(text, names="x line 1"):
            read_curve([path], "zero-shot")
    write(path, (5, "en-fr", 1, 2))
    with refused.raised("no zero-shot direction", names="zero-shot directions"):
        read_curve([path], "zero-shot")


def test_scores_of_several_subsets_are_no_curve(tmp_path, refused):
    """Neither of trainings that follow on one another, nor of one that went on with another set."""
    valid = write(tmp_path / "valid", (5, "de-fr", 1, 2))
    test = write(tmp_path / "test", (6, "de-fr", 1, 2))
    test.write_text(test.read_text().replace("{", '{"subset": "test", ', 1))
    both = tmp_path / "both"
    both.write_text(valid.read_text() + test.read_text())
    for paths in ([valid, test], [both]):
        with refused.raised(f"of {len(paths)}", names="de-fr: it has valid and test"):
            read_curve(paths, "zero-shot")
    assert list(read_curve([test], "zero-shot")) == [6]


def test_a_picture_has_a_line_for_each_name(tmp_path):
    curves = {"6 layers": {1: {"bleu": 2.0}, 2: {"bleu": 3.0}}, "12 layers": {1: {"bleu": 1.0}}}
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for path in (first, second):
        draw_curves(curves, ["bleu"], "zero-shot", path)
    drawn = first.read_text(encoding="utf-8")
    for text in ("6 layers", "12 layers", "BLEU", "updates", "zero-shot"):
        assert f">{text}<" in drawn
    assert first.read_bytes() == second.read_bytes()
