"""The picture of the sizes."""

from pathlib import Path

from tdo_plugin.analysis import size_plot

SIZES = {"sentences": {"en-de": 10, "de-en": 10, "en-fr": 5000}, "tokens": {}}
SIZES["tokens"] = {name: 20 * size for name, size in SIZES["sentences"].items()}


def test_directions_stand_by_size_and_equal_sizes_make_equal_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    for path in (first, second):
        size_plot.draw_sizes(SIZES, "text of $a_b$", path)
    drawn = first.read_text(encoding="utf-8")
    places = [drawn.index(f">{name}<") for name in ("en-fr", "de-en", "en-de")]
    assert places == sorted(places)
    assert ">text of $a_b$<" in drawn
    assert first.read_bytes() == second.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_png_is_one(tmp_path: Path) -> None:
    size_plot.draw_sizes(SIZES, "text", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
