"""Published rows: matched by group and metric only, set apart, blank where lost."""

import pytest
from unit.evaluation.report.sheets import sheet, written

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation import published
from tdo_plugin.evaluation.report.beside import Beside, beside, beside_table, chosen
from tdo_plugin.evaluation.report.tables import Quantity
from tdo_plugin.evaluation.scores import DirectionScores, SystemScores


def only(key: str, **changes: object) -> Beside:
    (found,) = beside(key, sheet(**changes))
    return found


def test_columns_are_those_of_the_same_group_and_metric() -> None:
    assert only("tdo:1").quantities == (
        Quantity("bleu", "en → X"),
        Quantity("bleu", "X → en"),
        Quantity("bleu", "zero-shot"),
        Quantity("off", "zero-shot"),
    )
    renamed = only("tdo:1", groups={"X → en": ("ar-en",), "en": ("en-de",)})
    assert renamed.quantities == (Quantity("bleu", "X → en"),)
    assert beside("tdo:1", sheet(groups={"mine": ("en-de",)})) == []


def test_rows_are_the_paper_s_and_set_apart() -> None:
    one = only("tdo:1")
    table = beside_table(one, sheet())
    ours, *theirs = table.blocks
    assert not ours.published and all(block.published for block in theirs)
    assert theirs[0].title == "TDO, Table 1: TED-19, N=6, d=512"
    rows = {row.labels[0]: row for row in theirs[0].rows}
    figures = published.table("tdo:1")
    wanted = figures.value("TED-19, N=6, d=512: encoder-decoder", "zero-shot", "off")
    assert rows["encoder-decoder"].cells[-1].value == wanted
    assert not any(cell.best for block in theirs for row in block.rows for cell in row.cells)
    assert "decoder-only, causal (derived)" in rows
    assert written(table)[("few",)]["BLEU ↑", "en → X"] == "*30.0"


def test_the_protocol_is_asked_for() -> None:
    other = beside_table(only("tdo:1"), sheet()).caption
    assert "were not scored by this paper's protocol" in other
    own = sheet(protocol="tdo")
    assert "protocol" not in beside_table(only("tdo:1", protocol="tdo"), own).caption
    assert chosen([], own) == ["tdo"]
    assert chosen(["tlm:8"], own) == ["tlm:8"]
    assert chosen([], sheet()) == []


def test_pooled_figures_meet_pooled_scores_and_directions_meet_directions() -> None:
    scores = DirectionScores("de-es", 2, {"bleu": 20.0, "perplexity": 5.0})
    own = sheet(
        systems=(SystemScores("s", (scores,), {"all": {"bleu": 25.0}}),),
        directions=("de-es",),
        groups={"all": ("de-es",)},
        comparisons=(),
    )
    (one,) = beside("tlm:8", own)
    # perplexity of all directions is not pooled here, so it is another quantity than the paper's
    assert one.quantities == (Quantity("bleu", "de-es"), Quantity("bleu", "all", pooled=True))
    assert written(beside_table(one, own))[("s",)] == {
        ("BLEU ↑", "de → es"): "20.0",
        ("BLEU, pooled ↑", "all"): "25.0",
    }


def test_lost_figures_are_blank_and_rows_without_any_are_counted() -> None:
    own = sheet(
        groups={"X → en": ("ar-en",), "supervised": ("en-ar",), "zero-shot": ("ar-de",)},
        directions=("en-ar", "en-de", "ar-en", "ar-de", "de-fr"),
    )
    lost = [one for key in ("opus100", "tpdm", "tlm") for one in beside(key, own) if one.lost]
    assert lost
    for one in lost:
        rows = len(published.table(one.key).rows)
        assert one.lost == rows - len(one.rows)
        assert f"{one.lost} published rows" in beside_table(one, own).caption
    blank = [
        cell.text
        for one in beside("opus100", own)
        for block in beside_table(one, own).blocks[1:]
        for row in block.rows
        for cell in row.cells
        if cell.value is None
    ]
    assert set(blank) <= {""}


@pytest.mark.parametrize("key", ["nope", "nope:1", "tdo:99", "tdo:"])
def test_an_unknown_table_is_one_line(key: str) -> None:
    with pytest.raises(UserError, match="`--published` must"):
        beside(key, sheet())
