"""Scores over a choice, by hand."""

import math
from dataclasses import replace

import pytest
from support.score_sheets import bleu_sheet as sheet

from tdo_plugin.evaluation.sweep import MEAN, members, numeric, placed, points

BLEU = {
    "base, seed 1": {"a-b": 10.0, "b-a": 20.0},
    "base, seed 2": {"a-b": 12.0, "b-a": 20.0},
    "k = 0.7, seed 1": {"a-b": 13.0, "b-a": 21.0},
    "k = 0.7, seed 2": {"a-b": 15.0, "b-a": 27.0},
    "k = 0": {"a-b": 11.0, "b-a": 0.0},
}
SHEET = sheet(BLEU)
SEEDS = ["k = 0.7, seed 1", "k = 0.7, seed 2"]


def test_systems_stand_where_they_were_put():
    assert placed(["k = 0.7=0.7", "k = 0=0"], SHEET) == {("", "0"): ["k = 0"], ("", "0.7"): SEEDS}
    assert placed([f"{SEEDS[0]}=TE:0.7", f"{SEEDS[1]}=TE:0.70", "k = 0=AV:1"], SHEET) == {
        ("TE", "0.7"): SEEDS,
        ("AV", "1"): ["k = 0"],
    }
    # numbers are in their order, words keep theirs
    for values, ordered in (
        (("10", "9", "-1"), ["-1", "9", "10"]),
        (("1000002", "1000001", "1e5"), ["100000", "1000001", "1000002"]),
        (("much", "0", "-1"), ["much", "0", "-1"]),
    ):
        names = ("k = 0.7", "k = 0", "base")
        places = placed(
            [f"{name}={value}" for name, value in zip(names, values, strict=True)], SHEET
        )
        assert [value for _, value in places] == ordered
        assert numeric(places) == ("much" not in values)
    assert numeric(placed(["k = 0=-1e3"], SHEET))
    assert not numeric(placed(["k = 0=nan"], SHEET))


def test_places_that_are_refused(refused):
    for places, names in (
        (["k = 0.7"], "it names k "),
        (["k"], "it is k"),
        (["k = 0="], "it is k = 0="),
        (["k = 0=TE:"], "it is k = 0=TE:"),
        (["=1"], "it is =1"),
        (["other=1"], "it names other"),
        (["k = 0.7=1", f"{SEEDS[1]}=2"], "k = 0.7, seed 2"),
    ):
        with refused.raised(f"{places}", names=names):
            placed(places, SHEET)


def test_means_and_spreads_over_seeds():
    nought, most = points(SHEET, placed(["k = 0=0", "k = 0.7=0.7"], SHEET), "bleu")
    assert most.scores == {"a-b": (13, 15), "b-a": (21, 27), MEAN: (17, 21)}
    assert (most.mean("a-b"), most.mean(MEAN), most.spread(MEAN)) == (14, 19, (17, 21))
    assert nought.scores[MEAN] == (5.5,)
    assert (nought.name, most.name) == ("0", "0.7")


def test_differences_are_from_the_baseline_s_mean():
    baseline = members("base", SHEET, "--baseline")
    (point,) = points(SHEET, placed(["k = 0.7=TE:0.7"], SHEET), "bleu", baseline, "difference")
    assert point.scores == {"a-b": (2, 4), "b-a": (1, 7), MEAN: (1.5, 5.5)}
    assert point.name == "TE, 0.7"


def test_ratios_are_percent_of_the_baseline_s_mean():
    baseline = members("base", SHEET, "--baseline")
    (point,) = points(SHEET, placed(["k = 0=0"], SHEET), "bleu", baseline, "ratio")
    assert point.scores == {
        "a-b": (pytest.approx(0),),
        "b-a": (-100,),
        MEAN: (pytest.approx(100 * (5.5 / 15.5 - 1)),),
    }
    nothing = sheet({"base": {"a-b": 0.0}, "other": {"a-b": 1.0}})
    (point,) = points(nothing, placed(["other=0"], nothing), "bleu", ["base"], "ratio")
    assert math.isnan(point.scores[MEAN][0])


def test_groups_take_the_place_of_the_mean(refused):
    grouped = replace(SHEET, groups={"all": ("a-b", "b-a"), "back": ("b-a",)})
    place = placed(["k = 0.7=1"], grouped)
    (point,) = points(grouped, place, "bleu", groups=["back", "all"])
    assert point.scores == {"a-b": (13, 15), "b-a": (21, 27), "back": (21, 27), "all": (17, 21)}
    with refused.raised("another group", names="--group"):
        points(grouped, place, "bleu", groups=["other"])


def test_means_are_those_of_the_sheet():
    skipping = sheet(BLEU, skip_zeros=True)
    (point,) = points(skipping, placed(["k = 0=0"], skipping), "bleu")
    assert point.scores[MEAN] == (11,) == (skipping.mean("k = 0", "all", "bleu"),)


def test_scores_that_are_missing(refused):
    incomplete = sheet({"one": {"a-b": 1.0, "b-a": 1.0}, "two": {"a-b": 1.0}})
    for scores, name, metric, names in (
        (incomplete, "two", "bleu", "two has none for b-a"),
        (incomplete, "one", "chrf", "chrF"),
        (sheet({"one": {}}), "one", "bleu", "scores for a direction"),
    ):
        with refused.raised(names, names=names):
            points(scores, placed([f"{name}=1"], scores), metric)
