"""`tdo corpus` from the command line."""

import io

import pytest
from support.commands import told

from tdo_plugin.data.corpus_settings import CorpusSettings
from tdo_plugin.data.embedded_corpus import write_corpus


@pytest.fixture
def small(capsys):
    sizes = ("--train", 4, "--valid", 2, "--test", 3)
    return lambda out, *more: told(capsys, "corpus", "--out", out, *sizes, *more)


def test_writes_what_was_asked_for(small, tmp_path):
    out = tmp_path / "made" / "here"
    printed, errors = small(out, "--langs", "en, fr,ja", "--seed", 3)
    assert str(out) in printed and errors == ""  # no terminal: silent
    small(tmp_path / "c")
    assert len(list((tmp_path / "c").glob("train.en-*"))) == 12  # by default all languages
    assert len((out / "train.en-fr.fr").read_text(encoding="utf-8").splitlines()) == 4
    assert len((out / "test.ja").read_text(encoding="utf-8").splitlines()) == 3


def test_options_reach_the_corpus(small, tmp_path):
    small(tmp_path / "a", "--langs", "de,en,fr", "--hub", "fr", "--share-hub")
    texts = [(tmp_path / "a" / f"train.fr-{x}.fr").read_bytes() for x in ("de", "en")]
    assert texts[0] == texts[1]
    small(tmp_path / "a", "--fresh")


def test_each_pair_may_have_a_number_of_its_own(small, tmp_path):
    sizes = ("--train", "en-fr=7, en-de=2", "--valid", 0, "--test", 0)
    small(tmp_path, "--langs", "en,de,fr", *sizes)
    lines = {path.name: path.read_text("utf-8").count("\n") for path in tmp_path.glob("train.*")}
    expected = {"en-de.en": 2, "en-de.de": 2, "en-fr.en": 7, "en-fr.fr": 7}
    assert lines == {f"train.{name}": count for name, count in expected.items()}


def test_pairs_of_other_centers_are_added(small, tmp_path):
    small(tmp_path, "--langs", "en,de,fr")
    small(tmp_path, "--add", "--langs", "de,fr", "--hub", "de", "--test", 0)
    pairs = {path.name.split(".")[1] for path in tmp_path.glob("train.*")}
    assert pairs == {"en-de", "en-fr", "de-fr"}


def test_a_terminal_sees_a_counter(tmp_path):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    settings = CorpusSettings(("en", "de"), train=30, valid=2, test=3)
    write_corpus(tmp_path / "c", settings, progress=terminal)
    assert "corpus" in terminal.getvalue() and "\n" not in terminal.getvalue()


def test_what_is_refused(small, tmp_path, refused):
    """And what tests/unit/data/test_embedded_corpus.py has."""
    small(tmp_path / "there", "--langs", "de,en,fr")
    refused.rows(
        """
        corpus --out {out}
            --langs ""             :: --langs
            --train many               :: many
            --train en-de=x            :: en-de=x
            --train 9,en-de=5          :: 9,en-de=5
        corpus --out {there} --langs de,en,fr                    :: --fresh
        corpus --out {there} --langs en,fr --add --hub fr     :: fr-en
            --fresh                                                  :: --fresh
        """,
        out=tmp_path / "out",
        there=tmp_path / "there",
    )
