"""The picture of `tdo bench`."""

from dataclasses import replace

import pytest
from speed import plot
from speed.measuring import Measurement
from speed.plan import ALL, SMALL, Comparison


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
    panels = [panel for panel in plot._figure(drawn, "title").axes if panel.get_visible()]
    assert [panel.get_xlabel() for panel in panels] == ["beam", "languages"]
    assert [panel.get_ylabel() for panel in panels] == [
        "training time per token",
        "peak training memory",
    ]
    middle = {line.get_label(): line for line in panels[0].containers}
    heights = {name: list(line.lines[0].get_ydata()) for name, line in middle.items()}
    assert heights == {
        "two-stream": [1.0, 2.0, 4.0],
        "concatenating": [2.0, 4.0, 8.0],
        "stock": [1.0, 2.0, 4.0],
    }


def test_no_panel_is_left_empty():
    axes = ("beam", "languages", "depth", "vocabulary", "sentences")
    drawn = [measurement for axis in axes for measurement in series("training", axis, (2, 4))]
    panels = [panel for panel in plot._figure(drawn, "title").axes if panel.get_visible()]
    assert [panel.get_xlabel() for panel in panels] == list(axes)


def test_the_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    for name in ("one.png", "one.svg"):
        plot.draw(series("training", "beam", (1, 2)), "title", tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(plot, "_figure", fail)
    with pytest.raises(KeyboardInterrupt):
        plot.draw([], "title", tmp_path / "two.png")
    assert {path.name for path in tmp_path.iterdir()} == {"one.png", "one.svg"}
