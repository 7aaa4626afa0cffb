"""The joint model, its dictionary, and text in pieces."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tdo_plugin.data import segmentation as sp
from tdo_plugin.data.joint_model import SegmentationSettings, train_model, training_sides
from tdo_plugin.data.textfolder import read_lines, read_text_folder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.outputs import join_pieces
from tdo_plugin.runtime.files import complete_file

WORDS = ["red", "houses", "stand", "near", "old", "rivers", "under", "wide", "grey", "skies"]
LINES = [f"{a} {b} {c} ." for a in WORDS for b in WORDS for c in WORDS]


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spm")
    (folder / "text").write_text("\n".join(LINES) + "\n")
    train_model([folder / "text"], folder / "spm", SegmentationSettings(vocab_size=60))
    return folder / "spm.model"


def test_the_dictionary_leaves_fairseqs_symbols_out(model_path: Path, tmp_path: Path) -> None:
    model = sp.load_model(model_path)
    count = sp.write_dictionary(model, tmp_path / "dict.txt")
    entries = [line.rsplit(" ", 1) for line in read_lines(tmp_path / "dict.txt")]
    assert count == len(entries) == model.get_piece_size() - 3
    assert {number for _, number in entries} == {"1"}
    assert not {"<s>", "</s>", "<unk>"} & {piece for piece, _ in entries}


def test_pieces_join_to_the_text(model_path: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("\n".join(LINES[:50]) + "\n")
    sp.encode_test(sp.load_model(model_path), tmp_path / "in", tmp_path / "out")
    assert [join_pieces(line) for line in read_lines(tmp_path / "out")] == LINES[:50]


def test_empty_and_long_pairs_are_left_out_of_training(model_path: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("red\n\nold\n" + "grey " * 90 + "\n")
    (tmp_path / "b").write_text("old\nred\nold\ngrey\n")
    dropped = sp.encode_sides(
        sp.load_model(model_path),
        (tmp_path / "a", tmp_path / "b"),
        (tmp_path / "a.out", tmp_path / "b.out"),
        max_pieces=50,
    )
    assert (dropped.empty, dropped.long) == (1, 1)
    assert [join_pieces(line) for line in read_lines(tmp_path / "a.out")] == ["red", "old"]
    assert [join_pieces(line) for line in read_lines(tmp_path / "b.out")] == ["old", "old"]


def test_no_test_line_is_left_out(model_path: Path, tmp_path: Path) -> None:
    lines = ["red", "grey " * 2000, "\u200b", "old"]  # the model does not see the third
    (tmp_path / "test.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sp.encode_test(sp.load_model(model_path), tmp_path / "test.en", tmp_path / "out")
    joined = [join_pieces(line) for line in read_lines(tmp_path / "out")]
    assert joined == ["red", lines[1].strip(), "", "old"]


def test_impossible_settings_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("\n".join(LINES) + "\n")
    settings = SegmentationSettings(vocab_size=5, model_type="bpe")
    with pytest.raises(UserError, match="`--vocab-size` must") as error:
        train_model([tmp_path / "text"], tmp_path / "spm", settings)
    assert "\n" not in str(error.value)
    (tmp_path / "bad.model").write_text("no model")
    with pytest.raises(UserError, match="must be a SentencePiece model"):
        sp.load_model(tmp_path / "bad.model")


TWICE = """
import sys
from pathlib import Path
from tdo_plugin.data.joint_model import SegmentationSettings, train_model
from tdo_plugin.runtime.jobs import run_jobs
text, out = map(Path, sys.argv[1:])
def learn(name):
    train_model([text], out / name, SegmentationSettings(vocab_size=80, sentences=2500))
learn("here")
list(run_jobs([("", lambda: learn("forked"))], 1))
"""


def test_the_same_model_in_every_process(tmp_path: Path, run: Callable[..., Any]) -> None:
    drawn = random.Random(1)
    words = ["".join(drawn.choices("abcdefghij", k=drawn.randint(2, 7))) for _ in range(2000)]
    lines = (" ".join(drawn.choices(words, k=6)) for _ in range(3000))
    (tmp_path / "text.en").write_text("\n".join(lines), encoding="utf-8")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        done = run("python", "-c", TWICE, tmp_path / "text.en", tmp_path / name)
        assert done.returncode == 0, done.stderr
    assert len({path.read_bytes() for path in tmp_path.glob("*/*.model")}) == 1
    assert len(list(tmp_path.glob("*/*.model"))) == 4


def test_equal_files_count_once_and_the_hub_can_be_limited(tmp_path: Path) -> None:
    for target in ("de", "fr"):
        for language in ("en", target):
            for split in ("train", "valid"):
                (tmp_path / f"{split}.en-{target}.{language}").write_text(f"{language}\n")
    folder = read_text_folder(tmp_path)

    def names(*hub_pairs: str) -> list[str]:
        return [path.name for path in training_sides(folder, hub_pairs)]

    assert names() == ["train.en-de.en", "train.en-de.de", "train.en-fr.fr"]
    (tmp_path / "train.en-fr.en").write_text("other English\n")
    assert names() == ["train.en-de.en", "train.en-de.de", "train.en-fr.en", "train.en-fr.fr"]
    assert names("fr") == ["train.en-de.de", "train.en-fr.en", "train.en-fr.fr"]
    with pytest.raises(UserError, match="tr is not one of them"):
        names("tr")


def test_the_hub_can_be_limited_where_pairs_name_it_last(tmp_path: Path) -> None:
    for source in ("de", "fr"):
        for language in (source, "en"):
            for split in ("train", "valid"):
                path = tmp_path / f"{split}.{source}-en.{language}"
                path.write_text(f"{language} beside {source}\n")
    sides = training_sides(read_text_folder(tmp_path), ("fr",))
    assert [path.name for path in sides] == ["train.de-en.de", "train.fr-en.fr", "train.fr-en.en"]


def test_an_interrupted_file_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), complete_file(tmp_path / "file") as stream:
        stream.write("half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
