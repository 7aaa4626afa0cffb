"""Pictures of scores over a choice: which line is which, and what stands below."""

import re
from pathlib import Path

from tdo_plugin.analysis.figure_files import Score
from tdo_plugin.analysis.sweep_figures import draw_curves


def curves(path: Path, places: tuple[float, ...], names: tuple[str, ...] = ("",)) -> str:
    """The picture of two groups of each name."""
    lines = {
        (name, group): {place: Score(place, place - 1, place + 1) for place in places}
        for name in names
        for group in ("supervised", "zero-shot")
    }
    draw_curves(lines, "M", "BLEU", "", [path])
    return path.read_text(encoding="utf-8")


def test_the_second_group_is_dotted_and_names_differ_without_colours(tmp_path):
    picture = curves(tmp_path / "a.svg", (1.0, 2.0), ("TED-19", "OPUS-100"))
    for name in ("TED-19", "OPUS-100"):
        for group in ("supervised", "zero-shot"):
            assert picture.count(f">{name}, {group}<") == 1
    # each in the panel and in the legend
    assert len(re.findall("stroke-dasharray", picture)) == 2 * 2
    # a circle is made of curves, a square of straight lines; the ends of bars are not closed
    shapes = re.findall(r'<path id="m[0-9a-f]+" d="([^"]+)"', picture)
    assert {"C" in shape for shape in shapes if "z" in shape} == {True, False}


def test_between_whole_numbers_there_is_nothing(tmp_path):
    for places, whole in (((7.0, 8.0, 9.0), True), ((0.1, 0.2), False)):
        picture = curves(tmp_path / "a.svg", places)
        below = picture[picture.index('id="xtick_1"') : picture.index('id="matplotlib.axis_2"')]
        labels = re.findall(r">([\d.]+)</text>", below)
        assert labels and all("." not in label for label in labels) == whole, labels
