"""`tdo corpus` from the command line."""

import argparse
import io

import pytest

from tdo_plugin.cli import corpus
from tdo_plugin.data.corpus_settings import CorpusSettings
from tdo_plugin.data.embedded_corpus import write_corpus
from tdo_plugin.errors import UserError


def run(*arguments):
    parser = argparse.ArgumentParser()
    corpus.add_arguments(parser)
    return corpus.run(parser.parse_args([str(argument) for argument in arguments]))


def small(out, *more):
    return run("--out", out, "--train", 4, "--valid", 2, "--test", 3, *more)


def test_writes_what_was_asked_for(tmp_path, capsys):
    out = tmp_path / "made" / "here"
    assert small(out, "--languages", "en, fr,ja", "--seed", 3) == 0
    captured = capsys.readouterr()
    assert str(out) in captured.out
    assert captured.err == ""  # no terminal: silent
    assert len((out / "train.en-fr.fr").read_text(encoding="utf-8").splitlines()) == 4
    assert len((out / "test.ja").read_text(encoding="utf-8").splitlines()) == 3


def test_defaults_are_all_languages_around_english(tmp_path):
    small(tmp_path / "c")
    assert len(list((tmp_path / "c").glob("train.en-*"))) == 12


def test_options_reach_the_corpus(tmp_path):
    small(tmp_path / "a", "--languages", "de,en,fr", "--center", "fr", "--share-center")
    texts = [(tmp_path / "a" / f"train.fr-{x}.fr").read_bytes() for x in ("de", "en")]
    assert texts[0] == texts[1]
    with pytest.raises(UserError, match="--force"):
        small(tmp_path / "a")
    assert small(tmp_path / "a", "--force") == 0


def test_each_pair_may_have_a_number_of_its_own(tmp_path):
    run("--out", tmp_path / "c", "--languages", "en,de,fr", "--train", "en-fr=7, en-de=2",
        "--valid", 0, "--test", 0)  # fmt: skip
    sizes = {path.name: len(path.read_text("utf-8").splitlines())
             for path in (tmp_path / "c").glob("train.*")}  # fmt: skip
    assert sizes == {
        "train.en-de.en": 2, "train.en-de.de": 2, "train.en-fr.en": 7, "train.en-fr.fr": 7
    }  # fmt: skip


def test_pairs_of_other_centers_are_added(tmp_path):
    out = tmp_path / "c"
    small(out, "--languages", "en,de,fr")
    sizes = ("--train", 4, "--valid", 2)
    assert run("--out", out, "--add", "--languages", "de,fr", "--center", "de", *sizes) == 0
    pairs = {path.name.split(".")[1] for path in out.glob("train.*")}
    assert pairs == {"en-de", "en-fr", "de-fr"}
    with pytest.raises(UserError, match=r"`--add` must have only new pairs; .* already has fr-de"):
        run("--out", out, "--add", "--languages", "de,fr", "--center", "fr", *sizes)
    with pytest.raises(SystemExit):
        run("--out", out, "--add", "--force")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--languages", "en,klingon"), "`--languages`"),
        (("--languages", ""), "`--languages` must name at least two of .*; it is empty"),
        (("--languages", "de,fr"), "`--center`"),
        (("--train", "-3"), "`--train` must not be negative; it is -3"),
        (
            ("--train", "many"),
            "`--train` must be a number, or a number for each .*; it is many",
        ),
        (("--train", "en-de=x"), "`--train` must be a number, .*; it is en-de=x"),
        (("--train", "9,en-de=5"), "`--train` must be a number, .*; it is 9,en-de=5"),
        (("--train", "en-de=1,en-de=2"), "`--train` must name each pair once"),
        (
            ("--train", "en-de=1"),
            "`--train` must be a number, or a number for each of en-de, en-fr",
        ),
    ],
)
def test_mistakes_write_nothing(tmp_path, arguments, message):
    with pytest.raises(UserError, match=message):
        run("--out", tmp_path / "c", *arguments)
    assert not (tmp_path / "c").exists()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_a_counter(tmp_path):
    terminal = Terminal()
    settings = CorpusSettings(("en", "de"), train=30, valid=2, test=3)
    write_corpus(tmp_path / "c", settings, progress=terminal)
    assert "corpus" in terminal.getvalue()
    assert "\n" not in terminal.getvalue()
