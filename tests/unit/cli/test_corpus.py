"""`tdo corpus` from the command line."""

import argparse
import io

from tdo_plugin.cli import corpus
from tdo_plugin.data.corpus_settings import CorpusSettings
from tdo_plugin.data.embedded_corpus import write_corpus


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
    small(tmp_path / "c")
    assert len(list((tmp_path / "c").glob("train.en-*"))) == 12  # by default all languages
    assert len((out / "train.en-fr.fr").read_text(encoding="utf-8").splitlines()) == 4
    assert len((out / "test.ja").read_text(encoding="utf-8").splitlines()) == 3


def test_options_reach_the_corpus(tmp_path):
    small(tmp_path / "a", "--languages", "de,en,fr", "--center", "fr", "--share-center")
    texts = [(tmp_path / "a" / f"train.fr-{x}.fr").read_bytes() for x in ("de", "en")]
    assert texts[0] == texts[1]
    assert small(tmp_path / "a", "--force") == 0


def test_each_pair_may_have_a_number_of_its_own(tmp_path):
    sizes = ("--train", "en-fr=7, en-de=2", "--valid", 0, "--test", 0)
    run("--out", tmp_path, "--languages", "en,de,fr", *sizes)
    lines = {path.name: path.read_text("utf-8").count("\n") for path in tmp_path.glob("train.*")}
    expected = {"en-de.en": 2, "en-de.de": 2, "en-fr.en": 7, "en-fr.fr": 7}
    assert lines == {f"train.{name}": count for name, count in expected.items()}


def test_pairs_of_other_centers_are_added(tmp_path):
    out = tmp_path / "c"
    small(out, "--languages", "en,de,fr")
    sizes = ("--train", 4, "--valid", 2)
    assert run("--out", out, "--add", "--languages", "de,fr", "--center", "de", *sizes) == 0
    pairs = {path.name.split(".")[1] for path in out.glob("train.*")}
    assert pairs == {"en-de", "en-fr", "de-fr"}


def test_a_terminal_sees_a_counter(tmp_path):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    settings = CorpusSettings(("en", "de"), train=30, valid=2, test=3)
    write_corpus(tmp_path / "c", settings, progress=terminal)
    assert "corpus" in terminal.getvalue() and "\n" not in terminal.getvalue()


def test_what_is_refused(tmp_path, refused):
    small(tmp_path / "there", "--languages", "de,en,fr")
    refused.rows(
        """
        corpus --out {out}
            --languages en,klingon     :: klingon
            --languages ""             :: --languages
            --languages de,fr          :: --center
            --train -3                 :: --train
            --train many               :: many
            --train en-de=x            :: en-de=x
            --train 9,en-de=5          :: 9,en-de=5
            --train en-de=1,en-de=2    :: --train
            --train en-de=1            :: en-de, en-fr
        corpus --out {there} --languages de,en,fr                    :: --force
        corpus --out {there} --languages en,fr --add --center fr     :: fr-en
            --force                                                  :: --force
        """,
        out=tmp_path / "out",
        there=tmp_path / "there",
    )
