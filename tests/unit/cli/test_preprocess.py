"""`tdo preprocess`: the form of the text, and --model-of, the pieces of a folder that is there."""

import json
from pathlib import Path

import pytest
from support.commands import told

from tdo_plugin.data.databin import MARK, read_data_folder
from tdo_plugin.data.segmentation import join_pieces, load_model
from tdo_plugin.evaluation.outputs import data_side
from tdo_plugin.metrics.textform import TextForm, read_text_form

LINES = {
    "en": "The House is Red , they say .",
    "de": "Das Haus ist Rot , sagen sie .",
    "fr": "La Maison est Rouge .",
}


def text(folder: Path, *pairs: str) -> Path:
    folder.mkdir()
    for pair in pairs:
        for language in pair.split("-"):
            for split in ("train", "valid", "test"):
                path = folder / f"{split}.{pair}.{language}"
                path.write_text(f"{LINES[language]}\n" * 3, encoding="utf-8")
    return folder


@pytest.fixture
def preprocess(capsys, tmp_path):
    """What it printed."""
    return lambda *words: told(capsys, "preprocess", *words)[0]


def pieces(out: Path, name: str) -> str:
    return (out / "pieces" / name).read_text(encoding="utf-8").split("\n")[0]


def test_the_form_is_written_down_and_applied(preprocess, refused, tmp_path):
    plain, out, size = tmp_path / "plain", tmp_path / "out", ("--vocab-size", "40")
    source = text(tmp_path / "text", "en-de")
    preprocess(source, plain, *size)
    assert "form" not in json.loads((plain / MARK).read_text())
    assert "House" in join_pieces(pieces(plain, "test.en-de.en"))
    preprocess(source, out, *size, "--casing", "lowercased", "--tokenization", "moses")
    assert read_text_form(out) == TextForm("lowercased", "moses")
    for split in ("train", "valid", "test"):
        assert join_pieces(pieces(out, f"{split}.en-de.en")) == LINES["en"].lower()
    data = read_data_folder(out)
    assert data_side(data, "en-de", "de")[0] == "Das Haus ist Rot, sagen sie."
    assert data.training_sizes() == {"en-de": 3}
    assert "is already complete" in preprocess(source, plain, *size)
    changed = ("--casing", "lowercased")
    refused("preprocess", source, plain, *size, *changed, names="other settings")


def test_pieces_and_dictionary_are_another_folder_s(preprocess, refused, tmp_path):
    known, data, more = tmp_path / "known", tmp_path / "data", text(tmp_path / "more", "de-fr")
    words = (more, data, "--model-of", known)
    preprocess(text(tmp_path / "text", "en-de", "en-fr"), known, "--vocab-size", "50")
    preprocess(*words)
    out = read_data_folder(data).root
    for name in ("spm.model", "spm.vocab", "dict.txt", "dict.de.txt"):
        assert (out / name).read_bytes() == (known / name).read_bytes()
    line = pieces(out, "test.de-fr.fr")
    assert line.split() == load_model(known / "spm.model").encode(LINES["fr"], out_type=str)
    assert join_pieces(line) == LINES["fr"]
    segmentation = json.loads((out / MARK).read_text())["segmentation"]
    assert set(segmentation) == {"spm.model", "spm.vocab", "dict.txt"}
    assert "is already complete" in preprocess(*words)
    with (known / "dict.txt").open("a", encoding="utf-8") as file:
        file.write("x 1\n")
    refused("preprocess", *words, names="other settings")
    refused("preprocess", *words, "--vocab-size", "50", names="--model-of")
    refused("preprocess", *words[:-1], tmp_path, names="--model-of")
