"""The joint model, its dictionary, and text in pieces."""

import random
from pathlib import Path

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
def model_path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spm")
    (folder / "text").write_text("\n".join(LINES) + "\n")
    train_model([folder / "text"], folder / "spm", SegmentationSettings(vocab_size=60))
    return folder / "spm.model"


def test_the_dictionary_leaves_fairseqs_symbols_out(model_path, tmp_path):
    model = sp.load_model(model_path)
    count = sp.write_dictionary(model, tmp_path / "dict.txt")
    entries = [line.rsplit(" ", 1) for line in read_lines(tmp_path / "dict.txt")]
    assert count == len(entries) == model.get_piece_size() - 3
    assert {number for _, number in entries} == {"1"}
    assert not {"<s>", "</s>", "<unk>"} & {piece for piece, _ in entries}


def encode_sides(model: Path, folder: Path, most: int) -> sp.Dropped:
    """The sides `a` and `b` of a folder in pieces, as `a.out` and `b.out`."""
    sides, outputs = ([folder / f"{side}{end}" for side in "ab"] for end in ("", ".out"))
    return sp.encode_sides(sp.load_model(model), sides, outputs, most)


def test_empty_and_long_pairs_are_left_out_of_training(model_path, tmp_path):
    (tmp_path / "a").write_text("red\n\nold\n" + "grey " * 90 + "\n")
    (tmp_path / "b").write_text("old\nred\nold\ngrey\n")
    dropped = encode_sides(model_path, tmp_path, 50)
    assert (dropped.empty, dropped.long) == (1, 1)
    assert [join_pieces(line) for line in read_lines(tmp_path / "a.out")] == ["red", "old"]
    assert [join_pieces(line) for line in read_lines(tmp_path / "b.out")] == ["old", "old"]


def test_the_longest_pair_that_is_kept(model_path, tmp_path):
    for side in "ab":
        (tmp_path / side).write_text("red houses stand\n")
    pieces = len(sp.load_model(model_path).encode("red houses stand"))
    for most, kept in ((pieces, 1), (pieces - 1, 0)):
        dropped = encode_sides(model_path, tmp_path, most)
        assert (dropped.kept, dropped.long) == (kept, 1 - kept)


def test_pieces_join_to_the_text_and_no_test_line_is_left_out(model_path, tmp_path):
    lines = ["red", "grey " * 2000, "\u200b", *LINES[:50]]  # the model does not see the third
    (tmp_path / "test.en").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sp.encode_test(sp.load_model(model_path), tmp_path / "test.en", tmp_path / "out")
    joined = [join_pieces(line) for line in read_lines(tmp_path / "out")]
    assert joined == ["red", lines[1].strip(), "", *LINES[:50]]


def test_what_is_refused(refused, tmp_path):
    (tmp_path / "text").write_text("\n".join(LINES) + "\n")
    settings = SegmentationSettings(vocab_size=5, model_type="bpe")
    with pytest.raises(UserError, match="`--vocab-size` must suit the text; SentencePiece says: "):
        train_model([tmp_path / "text"], tmp_path / "spm", settings)
    (tmp_path / "bad.model").write_text("no model")
    with refused.raised("no model", names="bad.model"):
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


def test_the_same_model_in_every_process(tmp_path, run):
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


def test_equal_files_count_once_and_the_hub_can_be_limited(refused, tmp_path):
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
    with refused.raised("another language", names="--hub-pairs"):
        names("tr")


def test_the_hub_can_be_limited_where_pairs_name_it_last(tmp_path):
    for source in ("de", "fr"):
        for language in (source, "en"):
            for split in ("train", "valid"):
                path = tmp_path / f"{split}.{source}-en.{language}"
                path.write_text(f"{language} beside {source}\n")
    sides = training_sides(read_text_folder(tmp_path), ("fr",))
    assert [path.name for path in sides] == ["train.de-en.de", "train.fr-en.fr", "train.fr-en.en"]


def test_an_interrupted_file_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), complete_file(tmp_path / "file") as stream:
        stream.write("half")
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
