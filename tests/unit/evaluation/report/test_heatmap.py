"""Heat maps as pictures."""

from support.score_sheets import sheet

from tdo_plugin.evaluation.report import heatmap


def test_pictures_appear_whole_and_alike(tmp_path):
    first, second = ([tmp_path / f"{name}{end}" for end in (".png", ".pdf")] for name in "ab")
    heatmap.draw(sheet(), "off", first)
    heatmap.draw(sheet(), "off", second)
    assert [path.read_bytes()[:4] for path in first] == [b"\x89PNG", b"%PDF"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert len([*tmp_path.iterdir()]) == 4  # nothing partial


def test_cells_stand_at_target_and_source_and_brighter_is_better():
    figure = heatmap._figure(sheet(), "off")
    panel = figure.axes[0]
    squares = panel.collections[0]
    corners = [tuple(path.vertices[0]) for path in squares.get_paths()]
    values = dict(zip(corners, squares.get_array(), strict=True))
    assert values == {(1, 0): 4.0, (2, 0): 2.0, (0, 1): 0.0, (2, 1): 50.0}  # x: target, y: source
    assert squares.norm.vmin == 0.0 and squares.norm.vmax == 50.0
    best, worst = (sum(squares.cmap(squares.norm(value))[:3]) for value in (0.0, 50.0))
    assert best > worst
    assert {text.get_text() for text in panel.texts} == {"4.0", "2.0", "0.0", "50.0"}
    box = figure.get_tightbbox()  # within the picture
    assert box.x0 >= 0 and box.y0 >= 0
    assert box.x1 <= figure.get_figwidth() and box.y1 <= figure.get_figheight()
