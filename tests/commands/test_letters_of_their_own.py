"""A text folder in letters of each language's own."""

import sys

import letters_of_their_own
import pytest
from support.translating import lines

from tdo_plugin.data.corpus_settings import CorpusSettings
from tdo_plugin.data.embedded_corpus import write_corpus


def test_languages_share_no_letter_and_keep_their_words(tmp_path, monkeypatch):
    text, out = tmp_path / "text", tmp_path / "out"
    write_corpus(text, CorpusSettings(languages=("en", "de", "fr"), train=30, valid=5, test=5))
    monkeypatch.setattr(sys, "argv", ["x", str(text), str(out)])
    letters_of_their_own.main()
    assert {path.name for path in out.iterdir()} == {path.name for path in text.iterdir()}
    letters = {}
    for language in ("en", "de", "fr"):
        (before, after) = (lines(folder / f"test.{language}") for folder in (text, out))
        assert [len(line) for line in after] == [len(line) for line in before]
        pairs = {
            pair for a, b in zip(before, after, strict=True) for pair in zip(a, b, strict=True)
        }
        assert len(dict(pairs)) == len(pairs) == len({b for _, b in pairs})  # one for one
        assert all((a == b) == (not a.isalnum()) for a, b in pairs)
        letters[language] = {b for a, b in pairs if a.isalnum()}
    assert len(set.union(*letters.values())) == sum(map(len, letters.values()))


def test_other_alphabets_do_not_fit(tmp_path, monkeypatch, capsys):
    (tmp_path / "text").mkdir()
    (tmp_path / "text/test.ru").write_text("да\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["x", str(tmp_path / "text"), str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="2"):
        letters_of_their_own.main()
    assert "must be Latin, up to U+024F" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
