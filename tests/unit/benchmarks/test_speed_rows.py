"""The arithmetic of `tdo bench`'s table, on made-up costs."""

import pytest
from speed.measuring import Measurement
from speed.plan import Comparison, Setting, table
from speed.rows import WIDTHS, head, line, rows

COSTS = {"two-stream": [1.0, 2.0, 4.0], "concatenating": [2.0, 3.0, 2.0], "stock": [1.0, 2.0, 4.0]}


def test_ratios_are_of_speed_and_within_a_round():
    table_rows = list(rows(Measurement(Comparison("training", Setting()), COSTS), {"cores": 2}))
    assert [(row.system, row.baseline) for row in table_rows] == [
        ("two-stream", "concatenating"),
        ("two-stream", "stock"),
    ]
    against, stock = table_rows
    assert (against.ratio, against.spread) == (1.5, (0.5, 2.0))
    assert (stock.ratio, stock.spread) == (1.0, (1.0, 1.0))
    assert against.metric == "training"
    assert against.settings["cost"] == 2.0 and against.settings["baseline_cost"] == 2.0
    assert against.settings["rounds"] == 3 and against.settings["cores"] == 2


def test_of_memory_less_is_less():
    comparison = Comparison("memory", Setting(instrucl=True), ("two-stream", "concatenating"))
    costs = {"two-stream": [3.0], "concatenating": [4.0]}
    (row,) = rows(Measurement(comparison, costs), {})
    assert (row.ratio, row.spread) == (0.75, (0.75, 0.75))
    assert row.metric == "peak training memory with InstruCL"


@pytest.mark.parametrize("kind", ["training", "decoding", "memory"])
def test_the_table_is_markdown(kind):
    lines = head().split("\n")
    table_rows = rows(Measurement(Comparison(kind, Setting(instrucl=True)), COSTS), {})
    lines += [line(row) for row in table_rows]
    assert {text.count("|") for text in lines} == {6}
    assert len({len(text) for text in lines}) == 1


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_titles_fit_the_column(device):
    assert max(len(row.title) for row in table("paper", device)) <= WIDTHS[0]
