"""What pictures share."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest

from tdo_plugin.analysis import figure_files
from tdo_plugin.analysis.figure_files import Score


def test_what_cannot_be_drawn_is_refused(monkeypatch, refused):
    figure_files.check(Path("a.svg"))
    with refused.raised("a.gif", names="--plot"):
        figure_files.check(Path("a.gif"))
    monkeypatch.setattr(figure_files, "find_spec", lambda name: None)
    with refused.raised("no matplotlib", names="pip install matplotlib"):
        figure_files.check(Path("a.svg"))


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(AttributeError):
        figure_files.save(SimpleNamespace(dpi=100), tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["a", "b", "c"], 3),
        ([f"decoder-only, {kind}, adaptation" for kind in ("causal", "prefix", "none", "both")], 2),
        ([f"system {number} {'of a long name ' * 4}" for number in range(3)], 1),
    ],
    ids=["short", "long", "longest"],
)
def test_names_have_room_below_the_panel(names, columns):
    figure, axis = figure_files.panel(6.4, "")
    for name in names:
        axis.plot([1, 2], [1, 2], label=name)
    figure_files.legend(figure, *axis.get_legend_handles_labels())
    figure.draw_without_rendering()
    (legend,) = figure.legends  # of those tried, one is left
    box = legend.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width and 0 <= box.y0 < box.y1 < axis.bbox.y0
    assert [text.get_text() for text in legend.get_texts()] == names
    assert len({round(text.get_window_extent().x0) for text in legend.get_texts()}) == columns


def test_a_long_title_has_room():
    figure, axis = figure_files.panel(5.6, "mean over supervised and zero-shot " * 4)
    figure.draw_without_rendering()
    assert figure._suptitle is not None
    box = figure._suptitle.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width and box.y0 > axis.bbox.y1


def test_a_mean_beside_equal_numbers_has_no_bar():
    """matplotlib draws no bar of less than nothing, it fails."""
    equal = 0.1 + 0.2
    near = Score(math.nextafter(equal, 0), equal, equal)
    below, above = figure_files.whiskers([near, Score(2, 1, 4)]) or ([], [])
    assert below == [0, 1] and above == [pytest.approx(0, abs=1e-15), 2]
    nothing = Score(math.nan, math.nan, math.nan)
    assert figure_files.whiskers([Score(1, 1, 1), nothing]) is None
