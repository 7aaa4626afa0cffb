"""Names of text files: what they tell, and the names that others should have."""

from pathlib import Path

import pytest

from tdo_plugin.data.textfolder import read_text_folder
from tdo_plugin.data.textnames import fit_name, renamed_files, text_files, text_name, unsplit
from tdo_plugin.errors import UserError


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


def write(folder: Path, *names: str, text: str = "a\nb\n") -> Path:
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


PAIR = ("train.en-de.en", "train.en-de.de")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("train.en-pt-BR.en", "train.en-pt-BR.pt-BR"), r"train\.en-pt-BR\.en \(train\.en-pt_BR"),
        (("valid.en-pt-BR.en",), r"valid\.en-pt-BR\.en \(valid\.en-pt_BR\.en\).*--rename"),
        (("test.zh-Hans",), r"test\.zh-Hans \(test\.zh_Hans\)"),
        (("train.en-de.fr",), r"train\.en-de\.fr; rename or remove"),
        (("train.en-fr.en.gz",), r"train\.en-fr\.en\.gz, which tdo prepare --from can read"),
        (("train.fr", "train.en"), r"train\.en, which tdo prepare --from can read"),
        (("valid.tsv",), r"valid\.tsv, which tdo prepare --from can read"),
    ],
)
def test_no_file_is_dropped_in_silence(tmp_path, names, message):
    with pytest.raises(UserError, match=message):
        read_text_folder(write(tmp_path, *PAIR, *names))


def test_many_files_make_a_short_message(tmp_path):
    names = [f"train.en-x{number}-Y.en" for number in range(1000)]
    with pytest.raises(UserError, match="and 992 more") as caught:
        read_text_folder(write(tmp_path, *PAIR, *names))
    assert len(str(caught.value)) < 1000


def test_what_is_not_read_is_told(tmp_path):
    used = (*PAIR, "test.en-de.en", "test.en-de.de", "valid.en", "valid.de")
    plain = ("plain/test.en-de.en", "plain/test.en-de.de")
    more = ("test.en-fr.en", "test.en-fr.fr", "valid.fr", "plain/test.fr", "corpus.en", "corpus.de")
    folder = read_text_folder(write(tmp_path, *used, *plain, *more, "notes.txt"))
    assert sorted(folder.unused()) == sorted(more)


def test_files_under_other_names(tmp_path):
    write(tmp_path, *PAIR, "train.en-pt-BR.en", "train.en-pt-BR.pt-BR", "notes.txt", "test.tsv")
    renamed = renamed_files(sorted(tmp_path.iterdir()), "TEXT")
    assert renamed["train.en-pt_BR.pt_BR"] == tmp_path / "train.en-pt-BR.pt-BR"
    assert sorted(renamed) == sorted(
        (*PAIR, "train.en-pt_BR.en", "train.en-pt_BR.pt_BR", "notes.txt", "test.tsv")
    )
    write(tmp_path, "train.en-pt_BR.en")
    with pytest.raises(UserError, match=r"one file for train\.en-pt_BR\.en"):
        renamed_files(sorted(tmp_path.iterdir()), "TEXT")


def test_unsplit_corpora(tmp_path):
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
    unsplit_only = write(tmp_path / "opus", "corpus.en", "corpus.de")
    with pytest.raises(UserError, match="--split-valid N --split-test N"):
        read_text_folder(unsplit_only)
    parallel_only = write(tmp_path / "bible", "bible.en", "bible.de", "bible.fr")
    with pytest.raises(UserError, match="tdo prepare --from with --split-valid N"):
        read_text_folder(parallel_only)


def test_what_is_named_as_text_is_a_file(tmp_path):
    (write(tmp_path, *PAIR) / "train.en-it.en").symlink_to(tmp_path / "gone")
    with pytest.raises(UserError, match=r"train\.en-it\.en is a broken link"):
        text_files(tmp_path, "TEXT")
    (tmp_path / "train.en-it.en").unlink()
    (tmp_path / "valid.en-it.en").mkdir()
    with pytest.raises(UserError, match=r"valid\.en-it\.en is not a file"):
        text_files(tmp_path, "TEXT")
    (tmp_path / "valid.en-it.en").rename(tmp_path / "older")
    assert [path.name for path in text_files(tmp_path, "TEXT")] == sorted(PAIR)
