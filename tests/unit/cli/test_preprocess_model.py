"""`tdo preprocess --model-of` cuts other text into the pieces of a folder that is there."""

import json
from pathlib import Path

import pytest

from tdo_plugin.cli import main
from tdo_plugin.data.databin import MARK, read_data_folder
from tdo_plugin.data.segmentation import join_pieces, load_model

LINES = {"en": "the house is red", "de": "das haus ist rot", "fr": "la maison est rouge"}


def text(folder: Path, *pairs: str) -> Path:
    folder.mkdir()
    for pair in pairs:
        for language in pair.split("-"):
            for split in ("train", "valid", "test"):
                path = folder / f"{split}.{pair}.{language}"
                path.write_text(f"{LINES[language]}\n" * 3, encoding="utf-8")
    return folder


@pytest.fixture
def model_folder(tmp_path):
    out = tmp_path / "known"
    words = ["preprocess", str(text(tmp_path / "text", "en-de", "en-fr")), str(out)]
    assert main([*words, "--vocab-size", "45"]) == 0
    return out


def test_pieces_and_dictionary_are_the_other_folder_s(model_folder, tmp_path, capsys, refused):
    words = ["preprocess", str(text(tmp_path / "more", "de-fr")), str(tmp_path / "data")]
    words += ["--model-of", str(model_folder)]
    assert main(words) == 0
    out = read_data_folder(tmp_path / "data").root
    for name in ("spm.model", "spm.vocab", "dict.txt", "dict.de.txt"):
        assert (out / name).read_bytes() == (model_folder / name).read_bytes()
    line = (out / "pieces" / "test.de-fr.fr").read_text(encoding="utf-8").split("\n")[0]
    assert line.split() == load_model(model_folder / "spm.model").encode(LINES["fr"], out_type=str)
    assert join_pieces(line) == LINES["fr"]
    segmentation = json.loads((out / MARK).read_text())["segmentation"]
    assert set(segmentation) == {"spm.model", "spm.vocab", "dict.txt"}
    capsys.readouterr()
    assert main(words) == 0
    assert "is already complete" in capsys.readouterr().out
    with (model_folder / "dict.txt").open("a", encoding="utf-8") as file:
        file.write("x 1\n")
    refused(*words, names="other settings")


def test_what_is_refused(model_folder, tmp_path, refused):
    command = ("preprocess", text(tmp_path / "more", "de-fr"), tmp_path / "data", "--model-of")
    refused(*command, tmp_path, names="--model-of")
    refused(*command, model_folder, "--vocab-size", "50", names="--model-of")
