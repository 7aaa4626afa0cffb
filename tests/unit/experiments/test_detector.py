"""What tells languages apart: LID, lid.176 in the clone, and where a scale says so a download."""

from itertools import product
from pathlib import Path

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.experiments import detector
from tdo_plugin.experiments.library import PAPERS, find, setting_of


@pytest.fixture
def downloaded(tmp_path, monkeypatch):
    """A file where fasttext-langdetect keeps lid.176; it reads as one."""
    monkeypatch.delenv("LID", raising=False)
    monkeypatch.setenv("FTLANG_CACHE", str(tmp_path))
    monkeypatch.setattr(detector, "CLONE", tmp_path / "clone")
    monkeypatch.setattr(detector, "find_spec", lambda name: True)
    monkeypatch.setattr(detector, "FastText", lambda path: None)
    (tmp_path / "lid.176.bin").touch()
    return tmp_path / "lid.176.bin"


def test_a_download_is_taken_only_where_the_scale_says_so(downloaded, monkeypatch):
    """And if it can be read."""
    said: list[str] = []
    assert detector.lid_words(False, said.append) == () and not said
    assert detector.lid_words(True, said.append) == ("--lid", str(downloaded))
    assert said.pop() == f"off-target rates: by {downloaded}"

    def fail(path: Path) -> None:
        raise UserError("no fasttext")

    monkeypatch.setattr(detector, "FastText", fail)
    assert detector.lid_words(True, said.append) == ()
    assert said == ["off-target rates: by a classifier trained on the corpus (no fasttext)"]


def test_lid_goes_first_and_must_be_readable(downloaded, refused, monkeypatch):
    monkeypatch.setenv("LID", str(downloaded))
    assert detector.lid_words(False, print) == ("--lid", str(downloaded))
    monkeypatch.setattr(detector, "find_spec", lambda name: None)
    with refused.raised("no fasttext", names="LID"):
        detector.lid_words(False, print)
    monkeypatch.setenv("LID", "gone")
    with refused.raised("no file", names="gone"):
        detector.lid_words(False, print)


def test_only_tdo_was_evaluated_with_it():
    for paper, scale in product(PAPERS, ("toy", "full")):
        said = setting_of(find(paper), scale, {}).said("detector")
        assert said == ("lid.176" if (paper, scale) == ("tdo", "full") else None)
