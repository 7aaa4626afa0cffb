"""Published rows: matched by group and metric only, set apart, blank where lost."""

from dataclasses import replace

import pytest
from support.score_sheets import seeded, sheet, system, written

from tdo_plugin.evaluation import published
from tdo_plugin.evaluation.report.published_comparison import Beside, beside, beside_table, chosen
from tdo_plugin.evaluation.report.quantities import Quantity, quantity_of
from tdo_plugin.evaluation.score_sheet import DirectionScores, SystemScores


def only(key: str, **changes: object) -> Beside:
    (comparison,) = beside(key, sheet(**changes))
    return comparison


def test_columns_are_those_of_the_same_group_and_metric():
    assert only("tdo:1").quantities == (
        Quantity("bleu", "en → X"),
        Quantity("bleu", "X → en"),
        Quantity("bleu", "zero-shot"),
        Quantity("off", "zero-shot"),
    )
    renamed = only("tdo:1", groups={"X → en": ("ar-en",), "en": ("en-de",)})
    assert renamed.quantities == (Quantity("bleu", "X → en"),)
    assert beside("tdo:1", sheet(groups={"mine": ("en-de",)})) == []


def test_rows_are_the_paper_s_and_set_apart():
    comparison = only("tdo:1")
    table = beside_table(comparison, sheet())
    ours, *theirs = table.blocks
    assert not ours.published and all(block.published for block in theirs)
    assert theirs[0].title == "TDO, Table 1: TED-19, N=6, d=512"
    rows = {row.labels[0]: row for row in theirs[0].rows}
    figures = published.table("tdo:1")
    expected = figures.value("TED-19, N=6, d=512: encoder-decoder", "zero-shot", "off")
    assert rows["encoder-decoder"].cells[-1].value == expected
    assert not any(cell.best for block in theirs for row in block.rows for cell in row.cells)
    assert "decoder-only, causal (derived)" in rows
    assert written(table)[("few",)]["BLEU ↑", "en → X"] == "*30.0"


def test_captions_say_means_over_seeds_and_remarks():
    score_sheet, remark = seeded(), "Some figures were lost."
    (comparison,) = beside("tdo:1", score_sheet)
    table = beside_table(comparison, score_sheet)
    assert "The measured rows are means over seeds." in table.caption
    assert [row.labels[0] for row in table.blocks[0].rows] == ["few", "plain"]
    assert written(table)[("few",)]["BLEU ↑", "en → X"] == "*31.5"
    caption = beside_table(replace(only("tdo:1"), note=""), sheet()).caption
    assert "over seeds" not in caption and caption.endswith(".")
    assert remark in beside_table(replace(only("tdo:1"), note=remark), sheet()).caption


def test_the_protocol_is_asked_for():
    caption = beside_table(only("tdo:1"), sheet()).caption
    assert "were not scored with this paper's protocol" in caption
    score_sheet = sheet(protocol="tdo")
    assert "protocol" not in beside_table(only("tdo:1", protocol="tdo"), score_sheet).caption
    assert chosen([], score_sheet) == ["tdo"]
    assert chosen(["tlm:8"], score_sheet) == ["tlm:8"]
    assert chosen([], sheet()) == []


def sheet_of(scores, name, pooled=None):
    """One system's scores of some directions, which are a group."""
    rows = tuple(DirectionScores(direction, 2, row) for direction, row in scores.items())
    system_scores = SystemScores("s", rows, pooled or {})
    groups, directions = {name: tuple(reversed(scores))}, tuple(scores)
    return sheet(systems=(system_scores,), directions=directions, groups=groups, comparisons=())


@pytest.mark.parametrize("name", ["all", "supervised", "X → Y"])
def test_pooled_figures_meet_pooled_scores_and_directions_meet_directions(name):
    scores = {
        "de-es": {"bleu": 20.0, "perplexity": 5.0},
        "es-de": {"bleu": 22.0, "perplexity": 8.0},
    }
    score_sheet = sheet_of(scores, name, {name: {"bleu": 25.0}})
    (comparison,) = beside("tlm:8", score_sheet)
    table = beside_table(comparison, score_sheet)
    assert written(table)[("s",)] == {
        ("perplexity ↓", name): "6.50",
        ("BLEU ↑", "de → es"): "20.0",
        ("BLEU ↑", "es → de"): "22.0",
        ("BLEU, pooled ↑", name): "25.0",
    }
    assert "perplexity of several directions is their mean" in table.caption
    # some directions are not all of a paper's
    assert beside("tlm:8", sheet_of({"en-ar": {"perplexity": 5.0}}, "supervised")) == []
    pooled = replace(system("plain"), pooled={"supervised": {"bleu": 21.5}})
    groups = {"supervised": ("en-ar", "en-de")}
    assert beside("tlm:8", sheet(systems=(pooled,), groups=groups)) == []


def test_accuracy_and_win_ratio_are_made_of_what_was_measured():
    score_sheet = sheet()
    (sixth,) = beside("opus100:6", score_sheet)
    assert sixth.quantities == (Quantity("bleu", "zero-shot"), quantity_of("accuracy", "zero-shot"))
    table = beside_table(sixth, score_sheet)
    assert written(table)[("plain",)]["language accuracy % ↑", "zero-shot"] == "50.0"
    assert written(table)[("few",)]["language accuracy % ↑", "zero-shot"] == ""
    assert "100 minus the off-target rate" in table.caption
    (second,) = beside("opus100:2", score_sheet)
    rows = written(beside_table(second, score_sheet))
    assert rows[("few",)]["win ratio % ↑", "en → X"] == "100.0"
    assert rows[("plain",)]["win ratio % ↑", "en → X"] == ""  # the baseline
    assert rows[("24 layers, MATT, LALN, LALT (derived)",)]["win ratio % ↑", "en → X"] == "92.6"
    assert "better BLEU than plain" in beside_table(second, score_sheet).caption
    third = replace(score_sheet.comparisons[0], system="more", win_ratio={"en → X": 50.0})
    systems = (*score_sheet.systems, replace(system("few"), name="more"))
    for baseline, best in (("plain", "*100.0"), ("other", "100.0")):
        compared = (*score_sheet.comparisons, replace(third, baseline=baseline))
        more = sheet(systems=systems, comparisons=compared)
        assert written(beside_table(second, more))[("few",)]["win ratio % ↑", "en → X"] == best
    (uncompared,) = beside("opus100:2", sheet(comparisons=()))
    assert uncompared.quantities == (Quantity("bleu", "en → X"),)


def test_means_over_groups():
    trained = ("en-ar", "en-de", "ar-en")
    groups = {"X → en": ("ar-en",), "supervised": trained, "zero-shot": ("ar-de",)}
    rows = written(beside_table(only("tpdm:3", groups=groups), sheet(groups=groups)))
    assert rows[("plain",)]["BLEU ↑", "supervised"] == "23.3"  # (20 + 10 + 40) / 3
    assert rows[("MNMT-TPDM-small",)]["BLEU ↑", "supervised"] == "30.5"
    # a mean that lacks another system's directions is not the best
    groups = {"X → en": ("ar-en",), "en → X": ("en-ar", "ar-de")}
    rows = written(beside_table(only("tdo:1", groups=groups), sheet(groups=groups)))
    assert rows[("few",)]["BLEU ↑", "en → X"] == "30.0"  # of one direction, against 13.6 of two
    assert rows[("plain",)]["BLEU ↑", "en → X"] == "13.6"
    assert rows[("few",)]["BLEU ↑", "X → en"] == "40.0"  # as that of plain


def test_lost_figures_are_blank_and_rows_without_any_are_counted():
    score_sheet = sheet(
        groups={"X → en": ("ar-en",), "supervised": ("en-ar",), "zero-shot": ("ar-de",)},
        directions=("en-ar", "en-de", "ar-en", "ar-de", "de-fr"),
    )
    comparisons = [row for key in ("opus100", "tpdm", "tlm") for row in beside(key, score_sheet)]
    assert any(comparison.lost for comparison in comparisons)
    for comparison in comparisons:
        table = beside_table(comparison, score_sheet)
        assert comparison.lost == len(published.table(comparison.key).rows) - len(comparison.rows)
        assert (f"{comparison.lost} published rows" in table.caption) == (comparison.lost > 0)
        cells = [cell for block in table.blocks[1:] for row in block.rows for cell in row.cells]
        assert {cell.text for cell in cells if cell.value is None} <= {""}


def test_unknown_tables(refused):
    for key in ("nope", "nope:1", "tdo:99", "tdo:"):
        with refused.raised(key, names="--published"):
            beside(key, sheet())
