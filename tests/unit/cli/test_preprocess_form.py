"""`tdo preprocess` writes down how the text is cased and tokenized, and lowercases it."""

import json
from pathlib import Path

import pytest

from tdo_plugin.cli import main
from tdo_plugin.data.databin import MARK, read_data_folder
from tdo_plugin.data.segmentation import join_pieces
from tdo_plugin.evaluation.outputs import data_side
from tdo_plugin.metrics.textform import TextForm, read_text_form

LINES = {"en": "The House is Red , they say .", "de": "Das Haus ist Rot , sagen sie ."}


@pytest.fixture
def text(tmp_path):
    folder = tmp_path / "text"
    folder.mkdir()
    for split in ("train", "valid", "test"):
        for language, line in LINES.items():
            name = f"test.{language}" if split == "test" else f"{split}.en-de.{language}"
            (folder / name).write_text(f"{line}\n" * 3, encoding="utf-8")
    return folder


def prepare(text: Path, *words: str) -> Path:
    out = text.parent / "-".join(["data", *words])
    assert main(["preprocess", str(text), str(out), "--vocab-size", "40", *words]) == 0
    return out


def test_the_form_is_written_down_and_applied(text):
    plain = prepare(text)
    assert "form" not in json.loads((plain / MARK).read_text())
    assert "House" in join_pieces((plain / "pieces" / "test.en").read_text().split("\n")[0])
    out = prepare(text, "--casing", "lowercased", "--tokenization", "moses")
    assert read_text_form(out) == TextForm("lowercased", "moses")
    for name in ("train.en-de.en", "valid.en-de.en", "test.en"):
        pieces = (out / "pieces" / name).read_text(encoding="utf-8").split("\n")[0]
        assert join_pieces(pieces) == LINES["en"].lower()
    data = read_data_folder(out)
    assert data_side(data, "en-de", "de")[0] == "Das Haus ist Rot, sagen sie."
    assert data.training_sizes() == {"en-de": 3}


def test_another_form_is_another_folder(text, capsys, refused):
    out = prepare(text)
    assert main(["preprocess", str(text), str(out), "--vocab-size", "40"]) == 0
    assert "is already complete" in capsys.readouterr().out
    words = ["--vocab-size", "40", "--casing", "lowercased"]
    refused("preprocess", text, out, *words, names="other settings")
