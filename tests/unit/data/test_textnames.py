"""Names of text files: what they tell, and the names that others should have."""

from pathlib import Path

import pytest

from tdo_plugin.data.textfolder import read_text_folder
from tdo_plugin.data.textnames import fit_name, renamed_files, text_files, text_name, unsplit


@pytest.mark.parametrize(
    ("file", "fit"),
    [
        ("train.en-pt-BR.en", "train.en-pt_BR.en"),
        ("train.en-pt-BR.pt-BR", "train.en-pt_BR.pt_BR"),
        ("valid.zh-Hans-zh-Hant.zh-Hans", "valid.zh_Hans-zh_Hant.zh_Hans"),
        ("train.en-sr@latin.sr@latin.gz", "train.en-sr_latin.sr_latin.gz"),
        ("test.pt-BR", "test.pt_BR"),
        ("train.en-de.fr", None),
        ("train.en-en.en", None),
        ("train.en-de.en.txt", None),
        ("train.en-de.en~", None),
        ("train.en-de", None),
        ("train.clean.en-de.de", None),
    ],
)
def test_a_name_that_fits_no_form_and_the_one_that_would(file, fit):
    assert text_name(file.removesuffix(".gz")) is None
    assert fit_name(file) == fit
    assert fit is None or text_name(fit.removesuffix(".gz")) is not None


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("a\nb\n")
    return folder


PAIR = ("train.en-de.en", "train.en-de.de")


def test_no_file_is_dropped_in_silence(refused, tmp_path):
    for number, (names, told) in enumerate(
        [
            (("train.en-pt-BR.en", "train.en-pt-BR.pt-BR"), "(train.en-pt_BR.en)"),
            (("valid.en-pt-BR.en",), "--rename"),
            (("test.zh-Hans",), "test.zh-Hans (test.zh_Hans)"),
            (("train.en-de.fr",), "train.en-de.fr; rename or remove"),
            (("train.en-fr.en.gz",), "train.en-fr.en.gz"),
            (("train.fr", "train.en"), "train.en,"),
            (("valid.tsv",), "valid.tsv"),
            ([f"train.en-x{number}-Y.en" for number in range(1000)], "and 992 more"),
        ]
    ):
        folder = write(tmp_path / str(number), *PAIR, *names)
        refused("preprocess", folder, tmp_path / "data", names=told)


def test_what_is_not_read_is_told(tmp_path):
    used = (*PAIR, "test.en-de.en", "test.en-de.de", "valid.en", "valid.de")
    plain = ("plain/test.en-de.en", "plain/test.en-de.de")
    more = ("test.en-fr.en", "test.en-fr.fr", "valid.fr", "plain/test.fr", "corpus.en", "corpus.de")
    folder = read_text_folder(write(tmp_path, *used, *plain, *more, "notes.txt"))
    assert sorted(folder.unused()) == sorted(more)


def test_files_under_other_names(refused, tmp_path):
    write(tmp_path, *PAIR, "train.en-pt-BR.en", "train.en-pt-BR.pt-BR", "notes.txt", "test.tsv")
    renamed = renamed_files(sorted(tmp_path.iterdir()), "TEXT")
    assert renamed["train.en-pt_BR.pt_BR"] == tmp_path / "train.en-pt-BR.pt-BR"
    names = (*PAIR, "train.en-pt_BR.en", "train.en-pt_BR.pt_BR", "notes.txt", "test.tsv")
    assert sorted(renamed) == sorted(names)
    write(tmp_path, "train.en-pt_BR.en")
    refused("preprocess", "--rename", tmp_path, tmp_path / "data", names="train.en-pt_BR.en")


def test_unsplit_corpora(refused, tmp_path):
    names = ("corpus.en", "corpus.de.gz", "WMT-News.v2.de-en.de", "WMT-News.v2.de-en.en")
    write(tmp_path, *names, "bible.en-pt-BR.en", "bible.en-pt-BR.pt-BR", "README.md", "README.txt")
    write(tmp_path, "WMT-News.v2.de-en.xml", "alone.en", *PAIR, "LICENSE", "x.model", "x.vocab")
    corpora = unsplit(sorted(tmp_path.iterdir()))
    assert {
        key: {code: path.name for code, path in files.items()} for key, files in corpora.items()
    } == {
        ("corpus", ("de", "en")): {"de": "corpus.de.gz", "en": "corpus.en"},
        ("WMT-News.v2", ("de", "en")): {"de": names[2], "en": names[3]},
        ("bible", ("en", "pt_BR")): {"en": "bible.en-pt-BR.en", "pt_BR": "bible.en-pt-BR.pt-BR"},
    }
    pair = write(tmp_path / "opus", "corpus.en", "corpus.de")
    refused("preprocess", pair, tmp_path / "data", names="--split-valid N --split-test N")
    three = write(tmp_path / "bible", "bible.en", "bible.de", "bible.fr")
    refused("preprocess", three, tmp_path / "data", names="tdo prepare --from with --split-valid N")


def test_what_is_named_as_text_is_a_file(refused, tmp_path):
    (write(tmp_path, *PAIR) / "train.en-it.en").symlink_to(tmp_path / "gone")
    with refused.raised("a broken link", names="train.en-it.en"):
        text_files(tmp_path, "TEXT")
    (tmp_path / "train.en-it.en").unlink()
    (tmp_path / "valid.en-it.en").mkdir()
    with refused.raised("a folder", names="valid.en-it.en"):
        text_files(tmp_path, "TEXT")
    (tmp_path / "valid.en-it.en").rename(tmp_path / "older")
    assert [path.name for path in text_files(tmp_path, "TEXT")] == sorted(PAIR)
