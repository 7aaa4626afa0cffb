"""The score sheet as a file, its means, and several sheets as one."""

import json
from dataclasses import replace

from support.score_sheets import SCORES, bleu_sheet, sheet, trained

from tdo_plugin.evaluation.score_sheet import ScoreSheet, as_json, mean, merge
from tdo_plugin.evaluation.sheet_reading import read_sheet


def other(**changes: object) -> ScoreSheet:
    """A sheet of another system."""
    return sheet(**{"systems": (trained("other"),), "comparisons": (), **changes})


def test_a_sheet_survives_the_file(tmp_path):
    path = tmp_path / "scores.json"
    merged = merge([sheet(failures=("fr-de: no",)), other()])
    path.write_text(json.dumps(as_json(merged)), encoding="utf-8")
    assert read_sheet(path) == merged
    assert json.loads(path.read_text())["means"]["plain"]["mine"]["bleu"] == (10 + 7.25) / 2


def test_means_leave_out_what_is_missing_and_zeros_where_a_protocol_does():
    for skip, expected in ((False, 15.0), (True, 30.0)):
        scores = bleu_sheet({"one": {"en-de": 30.0, "de-fr": 0.0}}, skip_zeros=skip)
        assert scores.mean("one", "all", "bleu") == expected
        assert sheet(skip_zeros=skip).mean("plain", "all", "off") == 14.0  # of 4, 2, 0 and 50
    assert sheet().mean("plain", "all", "comet") is None
    assert mean([0.0, 0.0], skip_zeros=True) == 0.0


def test_sheets_are_merged():
    compared = (replace(sheet().comparisons[0], system="other"),)
    french = {"directions": ("fr-de",), "signatures": {"bleu": ("BLEU|y",)}}
    groups = {"zero-shot": ("fr-de",), "all": ("fr-de",)}
    both = merge([sheet(), other(comparisons=compared, groups=groups, **french)])
    assert [system.name for system in both.systems] == ["plain", "few", "other"]
    assert both.directions == both.groups["all"] == (*SCORES, "fr-de")
    assert both.notes == ("A note.", "The signatures of BLEU differ between systems.")
    assert both.comparison("other", "plain", "bleu") is not None


def test_sheets_that_do_not_go_together(refused):
    one = bleu_sheet({"one": {"en-de": 30.0}})
    with refused.raised("a system twice", names="one occurs twice"):
        merge([one, one])
    with refused.raised("two protocols", names="none and tdo"):
        merge([one, other(protocol="tdo")])
