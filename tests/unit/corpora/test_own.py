"""One's own text, described by the names of its files."""

import gzip
import hashlib
import shutil

import pytest
from support.own_folders import write

from tdo_plugin.corpora.own import describe
from tdo_plugin.errors import UserError

SEGMENTATION = {"model_type": "unigram", "vocab_size": 100}


def pairs(codes):
    return ["-".join(pair) for pair in codes]


def test_pairs_of_files(tmp_path):
    folder = write(
        tmp_path / "own",
        train_de__en_de="a\n", train_de__en_en="b\n",
        train_en__fr_en_gz="a\n", train_en__fr_fr_gz="b\n",
        valid_de__en_de="a\n", valid_de__en_en="b\n",
        test_de="a\n", test_en="b\n", test_fr="c\n", notes_txt="no text",
    )  # fmt: skip
    corpus, paths = describe(folder, None, SEGMENTATION)
    assert pairs(corpus.train_pairs) == ["de-en", "en-fr"]
    assert pairs(corpus.valid_pairs) == ["de-en"]
    assert sorted(pairs(corpus.test_pairs)) == ["de-en", "de-fr", "en-fr"]
    assert set(paths) == {path.name for path in folder.iterdir()} - {"notes.txt"}
    digest = hashlib.sha256(paths["train.de-en.de"].read_bytes()).hexdigest()
    assert corpus.archives["train.de-en.de"].sha256 == digest  # other text is another corpus
    (text_set,) = corpus.sets_of("train", ("en", "fr"))
    files = [member.archive for member in text_set.members]
    assert files == ["train.en-fr.en.gz", "train.en-fr.fr.gz"]


def test_a_table_with_a_centre(tmp_path):
    table = "id\tde\ten\tfr\n1\ta\tb\tc\n"
    folder = write(tmp_path / "own", train_tsv_gz=table, valid_tsv=table, test_tsv=table)
    corpus, _ = describe(folder, "en", SEGMENTATION)
    assert corpus.languages == ("en", "id", "de", "fr")
    assert pairs(corpus.train_pairs) == ["en-id", "en-de", "en-fr"]
    assert len(corpus.test_pairs) == 6
    every, _ = describe(folder, None, SEGMENTATION)
    assert len(every.train_pairs) == 6


def test_a_pair_is_called_as_in_train(tmp_path):
    folder = write(
        tmp_path / "own",
        train_de__en_de="a\n", train_de__en_en="b\n",
        train_en__de_de="a\n", train_en__de_en="b\n",
        train_fr__en_fr="a\n", train_fr__en_en="b\n",
        valid_fr__de_fr="a\n", valid_fr__de_de="b\n",
        valid_en__de_de="a\n", valid_en__de_en="b\n",
        test_tsv="en\tfr\tde\nb\tc\ta\n",
    )  # fmt: skip
    corpus, _ = describe(folder, None, SEGMENTATION)
    assert corpus.languages == ("de", "en", "fr")
    assert pairs(corpus.train_pairs) == ["de-en", "fr-en"]
    assert sorted(pairs(corpus.valid_pairs)) == ["de-en", "fr-de"]
    assert sorted(pairs(corpus.test_pairs)) == ["de-en", "fr-de", "fr-en"]
    sets = corpus.sets_of("train", ("de", "en"))
    assert [[member.archive for member in text_set.members] for text_set in sets] == [
        [f"train.{name}.de", f"train.{name}.en"] for name in ("de-en", "en-de")
    ]


def test_cleaning_can_be_left_out(tmp_path):
    folder = write(tmp_path / "own", train_de="a\n", train_en="b\n")
    for clean, rules in ((True, 4), (False, 1)):
        corpus, _ = describe(folder, None, SEGMENTATION, clean)
        assert len(corpus.clean["train"]) == rules


TEXT = {"train_de": "a", "train_en": "a"}
TESTS = {"test_de": "a", "test_en": "a"}


def test_bad_folders(refused, tmp_path):
    for files, centre, names in (
        ({}, None, "train.X-Y.X"),
        (TESTS, None, "train.X-Y.X"),
        ({"train_de__en_de": "a"}, None, "train.de-en.en"),
        (TEXT, "fr", "--hub"),
        ({"train_tsv": "one column\n"}, None, "language codes"),
        ({"train_tsv_gz": ""}, None, "language codes"),
        ({**TEXT, **TESTS, "test_en__de_en": "a", "test_en__de_de": "a"}, None, "2 of"),
        ({"train_de": "a", "train_en": ""}, None, "train.en"),
        ({**TEXT, "test_de": "a", "test_fr": "a"}, None, "fr has none"),
    ):
        folder = write(tmp_path / "own", **files)
        with refused.raised(f"{files} {centre}", names=names):
            describe(folder, centre, SEGMENTATION)
        shutil.rmtree(folder)
    with refused.raised("no folder", names="`--from`"):
        describe(tmp_path / "none", None, SEGMENTATION)
    folder = write(tmp_path / "own")
    for content, names in (
        (b"de\te\xf1\n", "line 1 must be UTF-8 text"),
        (gzip.compress(b"")[:10] + b"\xff" * 20, "must be complete"),
    ):
        (folder / "train.tsv").write_bytes(content)
        with pytest.raises(UserError, match=names):
            describe(folder, None, SEGMENTATION)
