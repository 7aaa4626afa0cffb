"""What `tdo bench` makes of costs: the table, and the picture of their growth."""

import runpy
from dataclasses import replace

import pytest
from speed import plot
from speed.measuring import Measurement
from speed.plan import ALL, SMALL, Comparison, Setting, table
from speed.rows import WIDTHS, head, line, rows
from support.configs import ROOT

from tdo_plugin.modules import int8_products

COSTS = {"two-stream": [1.0, 2.0, 4.0], "concatenating": [2.0, 3.0, 2.0], "stock": [1.0, 2.0, 4.0]}


def test_ratios_are_of_speed_or_of_memory_and_within_a_round():
    comparison = Comparison("training", Setting())
    against, stock = rows(Measurement(comparison, COSTS), {"cores": 2})
    assert (against.system, against.baseline) == ("two-stream", "concatenating")
    assert (against.ratio, against.spread) == (1.5, (0.5, 2.0))
    assert (stock.baseline, stock.ratio, stock.spread) == ("stock", 1.0, (1.0, 1.0))
    assert against.metric == "training"
    expected = {"cost": 2.0, "baseline_cost": 2.0, "rounds": 3, "cores": 2}
    assert against.settings.items() >= expected.items()
    # of memory less is less
    comparison = Comparison("memory", Setting(instrucl=True), ("two-stream", "concatenating"))
    costs = {"two-stream": [3.0], "concatenating": [4.0]}
    (row,) = rows(Measurement(comparison, costs), {})
    assert (row.ratio, row.spread) == (0.75, (0.75, 0.75))
    assert row.metric == "peak training memory with InstruCL"


@pytest.mark.parametrize("kind", ["training", "decoding", "memory"])
def test_the_table_is_markdown(kind):
    comparison = Comparison(kind, Setting(instrucl=True))
    lines = [*head().split("\n"), *map(line, rows(Measurement(comparison, COSTS), {}))]
    assert {text.count("|") for text in lines} == {6}
    assert len({len(text) for text in lines}) == 1
    assert (
        max(len(row.title) for row in (*table("paper", "cpu"), *table("paper", "cuda")))
        <= WIDTHS[0]
    )


@pytest.mark.skipif(not int8_products.is_available(), reason="torch lacks FBGEMM here")
def test_the_table_of_int8_kernels(monkeypatch, capsys):
    words = ["int8_kernels.py", "--outputs", "8", "16", "--tokens", "1", "--rounds", "1"]
    monkeypatch.setattr("sys.argv", words)
    runpy.run_path(str(ROOT / "benchmarks/int8_kernels.py"), run_name="__main__")
    head, line, *rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[:2] for row in rows] == [["| 8", "1"], ["| 16", "1"]]
    assert {text.count("|") for text in (head, line, *rows)} == {6}


def series(kind, axis, values):
    costs = {"two-stream": [1.0, 2.0, 3.0], "concatenating": [4.0] * 3, "stock": [2.0] * 3}
    return [
        Measurement(
            Comparison(kind, replace(SMALL, **{axis: value}), axis=axis),
            {system: [value * cost for cost in costs[system]] for system in ALL},
        )
        for value in values
    ]


def test_a_panel_for_each_series_relative_to_our_first_value():
    drawn = [*series("training", "beam", (1, 2, 4)), *series("memory", "languages", (4, 8))]
    drawn += series("training", "depth", (2, 4))
    panels = [panel for panel in plot._figure(drawn, "title").axes if panel.get_visible()]
    assert [panel.get_xlabel() for panel in panels] == ["beam", "languages", "depth"]
    labels = ["training time per token", "peak training memory", "training time per token"]
    assert [panel.get_ylabel() for panel in panels] == labels
    lines = {line.get_label(): line for line in panels[0].containers}
    assert {name: list(line.lines[0].get_ydata()) for name, line in lines.items()} == {
        "two-stream": [1.0, 2.0, 4.0],
        "concatenating": [2.0, 4.0, 8.0],
        "stock": [1.0, 2.0, 4.0],
    }
