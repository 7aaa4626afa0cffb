"""The picture says what it shows, whatever models are in it."""

import re

import pytest

from tdo_plugin.analysis.figure_files import Score
from tdo_plugin.analysis.preference import figure as drawn
from tdo_plugin.analysis.preference.figure import draw_preference


def bars(picture):
    """How many vertical lines from lowest to highest there are."""
    return len(re.findall(r'id="LineCollection_\d+"', picture))


def test_models_of_different_depth(tmp_path):
    models = {
        "deep $x$": {layer: Score(0.4 + layer / 50, 0.4, 0.7) for layer in range(1, 7)},
        "_flat": {layer: Score(0.5, 0.4, 0.6) for layer in (1, 2)},
    }
    paths = [tmp_path / "a.svg", tmp_path / "b.svg", tmp_path / "a.png"]
    draw_preference(models, "what it is", paths)
    picture, again = (path.read_text(encoding="utf-8") for path in paths[:2])
    assert picture == again and paths[2].read_bytes().startswith(b"\x89PNG")
    for label in ("deep $x$", "\u200b_flat", "what it is", "layer", "6"):
        assert picture.count(f">{label}<") == 1, label
    assert "stroke-dasharray" in picture  # the line at 0.5
    assert bars(picture) == 2 * 2  # in the panel and in the legend


def test_what_is_drawn(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(drawn, "save", lambda figure, path: kept.append(figure))
    scores = {1: Score(0.4, 0.3, 0.6), 2: Score(0.6, 0.55, 0.7)}
    draw_preference({"one": scores, "other": {1: Score(0.5, 0.2, 0.8)}}, "", [tmp_path / "a.svg"])
    (axis,) = kept[0].axes
    half = axis.lines[0]
    assert half.get_linestyle() == "--" and list(half.get_ydata()) == [0.5, 0.5]
    first, second = axis.containers
    assert list(first.lines[0].get_ydata()) == [0.4, 0.6]
    assert first.lines[0].get_xdata() == pytest.approx([1, 2], abs=0.1)
    assert first.lines[0].get_xdata()[0] < second.lines[0].get_xdata()[0]  # bars stand side by side
    assert first.lines[0].get_marker() != second.lines[0].get_marker()  # also without colours
    ends = [bar[:, 1].tolist() for bar in first.lines[2][0].get_segments()]
    assert ends == [pytest.approx([0.3, 0.6]), pytest.approx([0.55, 0.7])]


def test_there_are_no_layers_between_two_and_one_pair_has_no_bars(tmp_path):
    path = tmp_path / "a.svg"
    draw_preference({"one": dict.fromkeys((1, 2), Score(0.4, 0.3, 0.5))}, "", [path])
    labels = re.findall(r">([12](?:\.\d+)?)<", path.read_text(encoding="utf-8"))
    assert labels == ["1", "2"]
    draw_preference({"one": {1: Score(0.4, 0.4, 0.4)}}, "", [path])
    assert bars(path.read_text(encoding="utf-8")) == 0
