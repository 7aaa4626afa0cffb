"""The score sheet as a file, its means, and several sheets as one."""

import json
from dataclasses import replace

from tdo_plugin.evaluation.score_sheet import (
    Comparison,
    Difference,
    DirectionScores,
    Example,
    ScoreSheet,
    SystemScores,
    as_json,
    mean,
    merge,
)
from tdo_plugin.evaluation.sheet_reading import read_sheet

DIFFERENCE = Difference(30.0, 20.0, 10.0, 8.0, 12.0, 0.01)


SHARES = {"target": 100.0, "english": 0.0, "source": 0.0, "other": 0.0, "undetectable": 0.0}


def sheet(name: str = "one", **changes: object) -> ScoreSheet:
    rows = (
        DirectionScores("en-de", 2, {"bleu": 30.0, "off": 0.0}, SHARES, {"de": 2}),
        DirectionScores("de-fr", 2, {"bleu": 0.0, "off": 5.0}),
    )
    system = SystemScores(name, rows, {"all": {"bleu": 12.5}}, {"all": 0.5}, {"command": "x"})
    compared = {"en-de": DIFFERENCE}, {"all": DIFFERENCE}, {"all": 50.0}
    default = ScoreSheet(
        systems=(system,),
        directions=("en-de", "de-fr"),
        groups={"en → X": ("en-de",), "all": ("en-de", "de-fr")},
        metrics=("bleu", "off"),
        comparisons=(Comparison(name, name, "bleu", *compared),),
        examples=(Example("de-fr", 1, None, "ref", {name: "hyp"}, {name: 12.0}),),
        signatures={"bleu": ("BLEU|x",)},
        missing={"comet": "no"},
        notes=("a note.",),
        failures=("fr-de: no",),
        made_by={"commit": None},
    )
    return replace(default, **changes)


def test_a_sheet_survives_the_file(tmp_path):
    path = tmp_path / "scores.json"
    merged = merge([sheet(), sheet("base", comparisons=())])
    path.write_text(json.dumps(as_json(merged)), encoding="utf-8")
    assert read_sheet(path) == merged
    assert json.loads(path.read_text())["means"]["one"]["all"]["bleu"] == 15.0


def test_means_leave_out_what_is_missing_and_zeros_where_a_protocol_does():
    assert sheet().mean("one", "all", "bleu") == 15.0
    assert sheet(skip_zeros=True).mean("one", "all", "bleu") == 30.0
    assert sheet(skip_zeros=True).mean("one", "all", "off") == 2.5
    assert sheet().mean("one", "all", "comet") is None
    assert mean([0.0, 0.0], skip_zeros=True) == 0.0


def test_sheets_are_merged():
    french = {"directions": ("fr-de",), "signatures": {"bleu": ("BLEU|y",)}}
    groups = {"zero-shot": ("fr-de",), "all": ("fr-de",)}
    both = merge([sheet(), sheet("two", groups=groups, **french)])
    assert [system.name for system in both.systems] == ["one", "two"]
    assert both.directions == ("en-de", "de-fr", "fr-de")
    assert both.groups["all"] == ("en-de", "de-fr", "fr-de")
    assert both.notes == ("a note.", "The signatures of BLEU differ between systems.")
    assert both.comparison("two", "two", "bleu") is not None


def test_sheets_that_do_not_go_together(refused):
    with refused.raised("a system twice", names="one occurs twice"):
        merge([sheet(), sheet()])
    with refused.raised("two protocols", names="none and tdo"):
        merge([sheet(), sheet("two", protocol="tdo")])
