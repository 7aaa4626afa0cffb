"""What pictures share."""

from pathlib import Path

import pytest

from tdo_plugin.analysis import drawing
from tdo_plugin.errors import UserError


def test_what_cannot_be_drawn_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing.check(Path("a.svg"))
    with pytest.raises(UserError, match=r"`--plot` must end in .svg or .png; it is a.gif"):
        drawing.check(Path("a.gif"))
    monkeypatch.setattr(drawing, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install matplotlib"):
        drawing.check(Path("a.svg"))


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    class Broken:
        dpi = 100

        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

    with pytest.raises(RuntimeError):
        drawing.save(Broken(), tmp_path / "a.svg")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
