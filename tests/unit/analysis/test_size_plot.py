"""The picture of the sizes."""

from tdo_plugin.analysis import size_plot

SIZES = {"sentences": {"en-de": 10, "de-en": 10, "en-fr": 5000}, "tokens": {}}
SIZES["tokens"] = {name: 20 * size for name, size in SIZES["sentences"].items()}


def test_directions_stand_by_size_and_equal_sizes_make_equal_files(tmp_path):
    paths = [tmp_path / name for name in ("a.svg", "b.svg", "a.png")]
    for path in paths:
        size_plot.draw_sizes(SIZES, "text of $a_b$", path)
    drawn = paths[0].read_text(encoding="utf-8")
    places = [drawn.index(f">{name}<") for name in ("en-fr", "de-en", "en-de")]
    assert places == sorted(places)
    assert ">text of $a_b$<" in drawn
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[2].read_bytes().startswith(b"\x89PNG")
    assert sorted(tmp_path.iterdir()) == sorted(paths)
