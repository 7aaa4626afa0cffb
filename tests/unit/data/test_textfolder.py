"""What a text folder holds, and what is wrong with it."""

import shutil

import pytest

from tdo_plugin.data.textfolder import count_lines, line_starts, read_lines, read_text_folder
from tdo_plugin.errors import UserError


@pytest.fixture
def text(tmp_path):
    """en-de and en-fr with a parallel test set, and a test set of its own for fr-de."""
    folder = tmp_path / "text"
    folder.mkdir()
    for target in ("de", "fr"):
        for language in ("en", target):
            for split in ("train", "valid"):
                (folder / f"{split}.en-{target}.{language}").write_text("a b\nc d\n")
        (folder / f"test.fr-de.{target}").write_text("a\n")
    for language in ("en", "de", "fr"):
        (folder / f"test.{language}").write_text("a\nb\nc\n")
    (folder / "README").write_text("not text to train on")
    return folder


def test_languages_pairs_and_tests_are_found(text):
    folder = read_text_folder(text)
    assert folder.languages == ("en", "de", "fr")
    assert folder.pairs == (("en", "de"), ("en", "fr"))
    assert list(folder.directions()) == [("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en")]
    # a pair's own test set comes before the parallel one
    assert list(folder.test_pairs()) == [
        (("fr", "de"), "test.fr-de"),
        (("en", "de"), "test"),
        (("en", "fr"), "test"),
    ]
    assert read_text_folder(text, ["fr", "en", "de"]).languages == ("fr", "en", "de")


def test_the_files_of_some_pairs_alone(text):
    for name in ("valid.fr-de.fr", "valid.fr-de.de"):
        (text / name).write_text("e\n")
    german = read_text_folder(text, wanted=["de-en"])
    assert (german.languages, german.pairs) == (("en", "de"), (("en", "de"),))
    assert [pair for pair, _ in german.valids()] == [("en", "de")]
    assert list(german.test_pairs()) == [(("en", "de"), "test")]
    assert german.unused() == ["test.fr"]
    both = read_text_folder(text, wanted=["en-fr", "en-de"])
    assert both.pairs == (("en", "de"), ("en", "fr"))
    assert [prefix for _, prefix in both.test_pairs()] == ["test"] * 3
    assert not both.unused()
    every = read_text_folder(text, wanted=["en-fr", "en-de", "de-fr"])
    assert every == read_text_folder(text)


def test_validation_text(text):
    plain = read_text_folder(text)
    trained = {pair: plain.sides("valid", pair) for pair in plain.pairs}
    assert dict(plain.valids()) == trained
    # a trained pair named the other way round is not another pair
    for name in ("valid.en", "valid.de", "valid.fr", "valid.de-en.de", "valid.de-en.en"):
        (text / name).write_text("e\nf\n")
    parallel = read_text_folder(text)
    files = (text / "valid.de", text / "valid.fr")
    assert dict(parallel.valids()) == trained | {("de", "fr"): files}
    assert [*parallel.files()] == [*plain.files(), *files]
    assert "valid.en" in parallel.unused()  # each of its pairs has a set of its own
    # a pair's own set comes before the parallel one
    for language in ("fr", "de"):
        (text / f"valid.fr-de.{language}").write_text("e\n")
    pair_files = (text / "valid.fr-de.fr", text / "valid.fr-de.de")
    assert dict(read_text_folder(text).valids()) == trained | {("fr", "de"): pair_files}


def test_a_trained_pair_may_lack_its_own_validation_text(text):
    for language in ("en", "de"):
        (text / f"valid.en-de.{language}").rename(text / f"valid.de-en.{language}")
    turned = (text / "valid.de-en.de", text / "valid.de-en.en")
    french = (text / "valid.en-fr.en", text / "valid.en-fr.fr")
    assert dict(read_text_folder(text).valids()) == {("de", "en"): turned, ("en", "fr"): french}
    for path in (*turned, *french):
        path.unlink()
    assert not [*read_text_folder(text).valids()]
    for language in ("de", "en"):
        (text / f"valid.{language}").write_text("e\n")
    folder = read_text_folder(text, ["de", "en", "fr"])
    assert dict(folder.valids()) == {("en", "de"): (text / "valid.en", text / "valid.de")}


def test_what_is_refused(refused, text, tmp_path):
    (tmp_path / "empty").mkdir()
    refused.rows(
        """
        preprocess {text} {data}
            --pairs en-de,tr-en,de        :: tr-en, de
            --pairs ""                    :: --pairs
            --pairs de-fr                 :: --pairs
            --langs en,tr             :: --langs
        preprocess {data} {data}          :: {data}
        preprocess {empty} {data}         :: {empty}
        """,
        text=text,
        data=tmp_path / "data",
        empty=tmp_path / "empty",
    )
    for file, content, names in (
        ("valid.de-fr.de", "a\n", "valid.de-fr.fr"),
        ("valid.en-de.de", None, "valid.en-de.de"),
        ("train.en-de.de", "one line\n", "train.en-de.en"),
        ("test.fr", "one line\n", "test.de"),
        ("test.fr", "a\n \u3000\nc\n", "line 2"),
        ("test.fr-de.fr", "\n", "line 1"),
    ):
        shutil.copytree(text, tmp_path / "wrong", dirs_exist_ok=True)
        if content is None:
            (tmp_path / "wrong" / file).unlink()
        else:
            (tmp_path / "wrong" / file).write_text(content)
        words = ("preprocess", tmp_path / "wrong", tmp_path / "data")
        refused(*words, names=names, case=f"{file}: {content!r}")
        shutil.rmtree(tmp_path / "wrong")
    for language in ("en", "de"):
        (text / f"valid.en-de.{language}").write_text("")
    refused("preprocess", text, tmp_path / "data", names="one line")


def test_only_newlines_end_a_line(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("a\u2028b\r\nc\rd\nlast".encode())
    assert list(read_lines(path)) == ["a\u2028b", "c d", "last"]
    assert count_lines(path) == 3
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(UserError, match="must be UTF-8"):
        list(read_lines(path))


@pytest.mark.parametrize("lines", [["a", "\ufeffb"], [""], []])
def test_a_byte_order_mark_at_the_beginning_is_no_text(tmp_path, lines):
    path = tmp_path / "text"
    path.write_text("\ufeff" + "".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
    assert list(read_lines(path)) == lines
    assert count_lines(path) == len(lines)


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_reading_can_begin_where_a_line_begins(tmp_path, every):
    path = tmp_path / "text"
    path.write_text("\ufeffein\nzwölf\n\ufeffdrei\r\n\nfünf", encoding="utf-8", newline="")
    lines = ["ein", "zwölf", "\ufeffdrei", "", "fünf"]  # it is no text only at the beginning
    parts = [list(read_lines(path, start)) for start in line_starts(path, every)]
    assert parts == [lines[number:] for number in range(0, len(lines), every)]
