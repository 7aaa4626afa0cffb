"""`tdo prepare --adopt`: a folder that stock `fairseq-preprocess` made becomes a data folder."""

import filecmp

import pytest
from support.commands import told
from support.data import databin
from support.folders import contents
from support.prepared import TEST_SENTENCES, prepared, stock_folder, trained

from tdo_compat.digests import check_folder
from tdo_plugin.data.databin import read_data_folder
from tdo_plugin.data.segmentation import load_model
from tdo_plugin.metrics.textform import TextForm, read_text_form

SAME = (
    *("langs.txt", "pairs.txt", "dict.txt", "spm.model", "spm.vocab"),
    *("pieces/train.en-de.de", "pieces/valid.en-fr.en"),
)
UNCHECKED = ("pieces/", "spm.vocab")  # what only further preparation reads has no digest


@pytest.fixture
def stock(tmp_path):
    return stock_folder(tmp_path / "bin")


@pytest.fixture
def adopt(stock, tmp_path, capsys):
    """Adopts the folder; returns the data folder's path and what was printed."""

    def run(*words):
        out = tmp_path / "data"
        model = prepared().root / "spm.model"
        printed, _ = told(capsys, "prepare", "--adopt", stock, "--spm", model, "--out", out, *words)
        return out, printed

    return run


def test_it_becomes_what_tdo_preprocess_makes_of_the_same_text(stock, adopt, tmp_path):
    before = contents(stock)
    out, printed = adopt("--langs", "en,de,fr")
    for name in SAME:
        assert (out / name).read_bytes() == (prepared().root / name).read_bytes(), name
    usual = read_data_folder(prepared().root)
    assert {*read_data_folder(out).test_directions} == {*usual.test_directions}
    texts = [path.read_text(encoding="utf-8") for path in sorted((out / "reference").iterdir())]
    pairs = ("de-fr.de", "de-fr.fr", "en-de.de", "en-de.en", "en-fr.en", "en-fr.fr")
    for pair, text in zip(pairs, texts, strict=True):
        expected = usual.reference(*pair[:5].split("-"), pair[6:]).read_text(encoding="utf-8")
        assert text.replace("<<unk>>", "ù") == expected
    unknown = "".join(texts).count("<<unk>>")
    assert unknown and f"{unknown} of {6 * TEST_SENTENCES} sentences have an unknown" in printed
    assert contents(stock) == before
    assert (out / "train.en-de.de.bin").samefile(stock / "train.en-de.de.bin")
    checked = [name for name in contents(out) if not name.startswith(UNCHECKED)]
    assert check_folder(str(out)) == len(checked)


def test_it_is_translated_as_that(adopt, tmp_path, capsys):
    out, _ = adopt()
    for data in (out, prepared().root):
        where = tmp_path / f"of-{data.name}-{data == out}"
        told(
            *(capsys, "translate", data, "--path", trained(), "--out", where),
            *("--pairs", "en-de", "--cpu", "--workers", "1", "--beam", "1"),
        )
    one, other = (tmp_path / f"of-data-{adopted}" for adopted in (True, False))
    for kind in ("src", "hyp", "ref"):
        assert filecmp.cmp(one / f"en-de.{kind}", other / f"en-de.{kind}", shallow=False)


def test_references_and_form_are_given(adopt, tmp_path):
    text = tmp_path / "text"
    text.mkdir()
    for language in ("en", "de", "fr"):
        (text / f"test.{language}").write_text("A b.\n" * TEST_SENTENCES)
    (text / "test.en-de.de").write_text("C d.\n" * TEST_SENTENCES)
    words = ("--references", text, "--casing", "lowercased", "--tokenization", "moses")
    out, printed = adopt(*words)
    assert (out / "reference/test.en-de.de").read_text() == "C d.\n" * TEST_SENTENCES
    assert (out / "reference/test.de-fr.de").read_text() == "A b.\n" * TEST_SENTENCES
    assert read_text_form(out) == TextForm("lowercased", "moses", plain_references=True)
    assert f"references: {text}\n" in printed


def test_a_dictionary_that_fairseq_counted(stock, adopt, tmp_path, capsys):
    """It has padding and text that SentencePiece does not know, and lacks pieces."""
    for path in stock.glob("dict.*.txt"):
        first, _, *others = path.read_text(encoding="utf-8").splitlines()
        lines = ["☃☃ 1", "madeupword0000 0", *others, first]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = load_model(prepared().root / "spm.model")
    assert model.encode("☃☃", out_type=str) == ["▁", "☃☃"]
    _, printed = adopt()
    assert "it lacks 1, and 1 of its entries are characters" in printed


def test_what_does_not_fit_is_refused(stock, refused, tmp_path):
    model, other = prepared().root / "spm.model", tmp_path / "text"
    other.mkdir()
    command = f"prepare --adopt {stock} --spm {model} --out {tmp_path / 'data'}"
    refused.rows(
        f"""
        prepare --adopt {stock} --out {tmp_path / "data"} :: --spm
        prepare --adopt {stock} --spm {model} :: --out
        prepare --spm {model} toy --out {tmp_path / "data"} :: --spm
        {command}
            toy :: NAME
            --workers 2 :: --workers
            --out {stock} :: --out
            --spm {stock / "dict.en.txt"} :: SentencePiece
            --adopt {model} :: --adopt
            --adopt {prepared().root} :: prepared.json
            --adopt {other} :: training set
            --langs en,de :: lacks fr
            --langs en,de,fr, :: an empty one
            --langs en-de,fr :: en-de
            --langs en,de,fr,de :: each language once
            --references {other} :: test.de-fr.de or test.de
        """
    )
    (other / "test.de").touch()
    words = command.split()
    refused(*words, "--references", other, names="a line for each sentence", case="short")
    for name in ("train.en-None.en.bin", "train.align.en-de.bin", "dev.en-de.en.idx"):
        (stock / name).touch()
        refused(*words, names=name, case=name)
        (stock / name).unlink()
    lost = (stock / "valid.en-de.de.idx").rename(tmp_path / "lost")
    refused(*words, names="valid.en-de.de.idx is missing", case="lost")
    lost.rename(stock / "valid.en-de.de.idx")
    (stock / "test.en-fr.fr.bin").write_bytes(b"1")
    refused(*words, names="test.en-fr.fr.bin", case="damaged")
    with (stock / "dict.fr.txt").open("a") as stream:
        stream.write("x 1\n")
    refused(*words, names="dict.fr.txt differs", case="dictionaries")


def test_text_of_another_model_is_refused(refused, tmp_path):
    words = ("prepare", "--adopt", databin(), "--spm", prepared().root / "spm.model")
    refused(*words, "--out", tmp_path / "data", names="--spm")


def test_a_folder_that_is_not_adopted_names_what_adopts_it(stock, refused, tmp_path):
    for words in (("inspect", stock), ("translate", stock, "--path", trained(), "--out", tmp_path)):
        refused(*words, names=f"tdo prepare --adopt {stock} --spm MODEL --out DIR")
