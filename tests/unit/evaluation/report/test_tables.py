"""The tables' numbers, the best among them, and what is marked."""

from dataclasses import replace

import pytest
from support.score_sheets import seeded, sheet, system, written

from tdo_plugin.evaluation.report import notes, report_tables
from tdo_plugin.evaluation.report.table import (
    ABSENT,
    MINUS,
    number,
    p_value,
    score_cells,
    significance,
)
from tdo_plugin.evaluation.score_sheet import METRICS, Difference, DirectionScores


def test_summary_has_means_by_metric_and_group():
    rows = written(report_tables.summary(sheet()))
    plain, few = rows[("plain",)], rows[("few",)]
    assert plain["BLEU ↑", "en → X"] == "15.0"
    assert few["BLEU ↑", "en → X"] == "*30.0▲"
    assert plain["BLEU ↑", "mine"] == "8.6"  # (10 + 7.25) / 2
    assert few["BLEU ↑", "zero-shot"] == ABSENT
    assert plain["perplexity ↓", "en → X"] == "5.50"
    order = [column.over for column in report_tables.summary(sheet()).columns]
    assert order == ["BLEU ↑"] * 5 + ["COMET ↑"] + ["off-target % ↓"] * 5 + ["perplexity ↓"] * 5
    # a metric that is missing keeps one column and says why
    assert few["COMET ↑", "missing"] == ABSENT
    assert notes.missing(sheet()) == ["COMET is missing: unbabel-comet is not installed"]
    # the best is by the direction of the metric and as rounded
    assert few["off-target % ↓", "en → X"] == "*2.0"  # 2.005 against 3
    assert plain["off-target % ↓", "Arabic → English"] == "*0.0"
    # 39.99 is 40.0 as well: nothing is marked, also with p = 0.03
    assert plain["BLEU ↑", "Arabic → English"] == few["BLEU ↑", "Arabic → English"] == "40.0"
    assert plain["BLEU ↑", "zero-shot"] == "7.2"  # alone, so the best of nothing


def test_trained_directions_together_have_a_column_where_it_says_more():
    groups = {
        "en → X": ("en-ar", "en-de"),
        "X → en": ("ar-en",),
        "supervised": ("en-ar", "en-de", "ar-en"),
        "zero-shot": ("ar-de",),
        "High: en → X": ("en-ar",),
    }
    without = [name for name in groups if name != "supervised"]
    assert report_tables.summary_groups(sheet(groups=groups)) == without
    assert report_tables.summary_groups(sheet(groups=groups, protocol="tdo")) == without
    assert report_tables.summary_groups(sheet(groups=groups, protocol="tpdm")) == [*groups]
    # without a hub nothing else holds them
    groups = {"supervised": ("en-ar", "ar-en"), "family": ("en-ar",), "other": ("ar-en",)}
    assert report_tables.summary_groups(sheet(groups=groups)) == [*groups]
    shown = [column.name for column in report_tables.summary(sheet(groups=groups)).columns[:3]]
    assert shown == [*groups]


def test_seeds_have_a_mean_and_a_spread():
    assert report_tables.seeds(sheet()) is None
    rows = written(report_tables.seeds(seeded()))
    assert rows["few", "2"]["BLEU ↑", "en → X"] == "*31.5 ± 2.1"  # of 30.02 and 33.02
    assert rows["few", "2"]["off-target % ↓", "Arabic → English"] == "1.0 ± 0.0"
    assert rows["few", "2"]["BLEU ↑", "zero-shot"] == ABSENT
    assert rows["plain", "1"]["BLEU ↑", "en → X"] == "15.0"


@pytest.mark.parametrize(
    ("values", "metric", "best"),
    [
        ([1.0, 2.0, 2.04], "bleu", [False, True, True]),
        ([1.0, 2.0, None], "ter", [True, False, False]),
        ([1.004, 1.0, 1.006], "perplexity", [True, True, False]),
        ([5.0], "bleu", [False]),
        ([2.0, 2.04], "bleu", [False, False]),
    ],
)
def test_best_of_some_values(values, metric, best):
    assert [cell.best for cell in score_cells(values, METRICS[metric])] == best


def test_pooled_scores_stand_beside_means_where_the_paper_pools():
    assert ("BLEU, pooled ↑", "all") not in written(report_tables.summary(sheet()))[("few",)]
    rows = written(report_tables.summary(sheet(protocol="tlm")))
    assert rows[("few",)]["BLEU, pooled ↑", "all"] == "21.5"
    assert rows[("few",)]["BLEU ↑", "all"] == "33.3"


def test_every_direction_has_a_row_and_lacks_what_is_not_there():
    rows = written(report_tables.by_direction(sheet()))
    assert [*rows] == [("en → ar",), ("en → de",), ("ar → en",), ("ar → de",)]
    assert rows[("en → ar",)] == {
        ("BLEU ↑", "plain"): "20.0",
        ("BLEU ↑", "few"): "*30.0▲",
        ("off-target % ↓", "plain"): "4.0",
        ("off-target % ↓", "few"): "4.0",
        ("perplexity ↓", "plain"): "5.00",
        ("perplexity ↓", "few"): "5.00",
    }
    assert rows[("ar → de",)]["BLEU ↑", "few"] == ABSENT


def test_differences_have_interval_p_and_wins():
    table = report_tables.differences(sheet())
    assert table.blocks[0].title == "few against plain"
    rows = written(table)
    assert [*rows[("BLEU", "en → X")].values()] == ["+15.0▲", "[+10.0, +20.0]", "< 0.001", "100"]
    assert [*rows[("BLEU", "Arabic → English")].values()] == [
        "0.0",
        f"[{MINUS}1.0, +1.0]",
        "0.031",
        "0",
    ]
    assert report_tables.differences(sheet(comparisons=())) is None
    bare = replace(sheet().comparisons[0], directions={}, groups={})
    untested = sheet(comparisons=(bare,))
    rows = written(report_tables.differences(untested))
    assert [*rows[("BLEU", "en → X")].values()] == ["", "", "", "100"]
    assert notes.legend(untested) == []


def test_languages_of_the_hypotheses_by_group():
    rows = written(report_tables.languages(sheet()))
    assert [*rows[("en → X", "plain")].values()] == ["97.0", "1.5", "0.8", "0.8", "0.0", "0.4"]
    assert ("zero-shot", "few") not in rows


def test_numbers():
    assert [number(value, 1, True) for value in (-0.04, 0.04, 1.24)] == ["0.0", "0.0", "+1.2"]
    assert number(-1.25, 2) == f"{MINUS}1.25"
    assert [p_value(p) for p in (0.0009, 0.001, 0.5)] == ["< 0.001", "0.001", "0.500"]


@pytest.mark.parametrize(
    ("system", "baseline", "p", "metric", "mark"),
    [
        (30.0, 20.0, 0.049, "bleu", "▲"),
        (20.0, 30.0, 0.049, "bleu", "▼"),
        (20.0, 30.0, 0.049, "off", "▲"),
        (30.0, 20.0, 0.05, "bleu", ""),
        (30.04, 29.96, 0.001, "bleu", ""),  # both are 30.0
        (30.06, 30.04, 0.001, "bleu", ""),  # the difference is 0.0
    ],
)
def test_significant_differences_are_marked(system, baseline, p, metric, mark):
    tested = Difference(system, baseline, system - baseline, 0.0, 0.0, p)
    assert significance(tested, METRICS[metric]) == mark


def test_a_correlation_is_of_the_zero_shot_group_or_else_of_all():
    for correlations, remark in (
        ({"X → en": 0.1, "zero-shot": 0.93, "all": 0.5}, ["(zero-shot) is 0.93."]),
        ({"X → en": 0.1, "all": -0.5}, ["(all) is -0.50."]),
        ({"X → en": 0.1}, ["(Arabic → English) is 0.10."]),
        ({}, []),
    ):
        scores = sheet(systems=(replace(system("plain"), correlations=correlations),))
        lines = [line for line in notes.remarks(scores) if "Pearson" in line]
        assert [line.partition("over directions ")[2] for line in lines] == remark


def test_notes_name_what_the_means_leave_out():
    lines = notes.remarks(sheet())
    assert "few: means of BLEU, off-target %, perplexity cover 0 of 1 (zero-shot), " in lines[-1]
    assert "3 of 4 (all), 1 of 2 (mine) directions." in lines[-1]
    assert not any(line.startswith("plain: means") for line in lines)
    bare = replace(system("few"), name="bare", directions=(DirectionScores("en-ar", 2, {}),))
    lines = notes.remarks(sheet(systems=(bare, system("few"))))
    # of its correlation; what it lacks altogether has no mean
    assert sum("bare" in line for line in lines) == 1


def test_what_is_below_a_table():
    def below(scores, make=report_tables.summary, best="bold"):
        return notes.below(scores, make(scores), best)

    assert "without scores of exactly 0" in below(sheet(skip_zeros=True))[0]
    assert "Arabic → English (1)" in below(sheet())[0]
    assert "▲ ▼ significantly better or worse than plain (p < 0.05, " in below(sheet())[1]
    assert "; *: the best score" in below(sheet(), best="*")[1]
    differences = below(sheet(), report_tables.differences)
    assert "▲ ▼" in differences[1] and "bold" not in differences[1]
    alone = sheet(systems=(system("plain"),), comparisons=())
    assert len(below(alone)) == 1  # no bold and no marks to explain
