"""The text folder of all splits, and lines of one language alone."""

import errno
import os
from dataclasses import replace

import pytest

from tdo_plugin.corpora.description import Member, Monolingual, load
from tdo_plugin.corpora.making import Making, Record
from tdo_plugin.corpora.texts import write_monolingual, write_text_folder

TEXT = {"de": "Das Haus\n", "en": "the house\n"}


@pytest.fixture
def making(tmp_path):
    text = Member("news", "")
    (tmp_path / "news").write_text("".join(f"line {n}\n\n" for n in range(50)), encoding="utf-8")
    alone = (Monolingual("en", text, 20, 1), Monolingual("de", text, 90, 1))
    corpus = replace(load("iwslt14-de-en"), monolingual=alone)
    made = Making(corpus, {text: (tmp_path / "news",)}, "source", tmp_path / "out")
    for language, line in TEXT.items():
        path = made.tokens("train", ("de", "en"), language)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line, encoding="utf-8")
    return made


@pytest.mark.parametrize("links", [True, False])
def test_what_is_not_truecased_is_there_with_or_without_links(making, links, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    folder = making.work / "text"
    folder.mkdir()
    (folder / "train.of-before.of").touch()
    record = Record("train", ("de", "en"), 1, {}, 1)
    write_text_folder(making, [record], folder, making.out, 1)
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert found == {f"train.de-en.{language}": line for language, line in TEXT.items()}
    assert {path.stat().st_nlink for path in folder.iterdir()} == {2 if links else 1}


def test_lines_of_one_language_are_drawn_in_their_order(making):
    said = []
    write_monolingual(making, making.out / "mono", said.append)
    drawn = (making.out / "mono" / "mono.en").read_text(encoding="utf-8").splitlines()
    every = [f"line {n}" for n in range(50)]
    assert len(drawn) == 20
    assert drawn == [line for line in every if line in drawn] != every[:20]
    assert (making.out / "mono" / "mono.de").read_text(encoding="utf-8").splitlines() == every
    assert said[0] == "en alone: 50 lines, 20 kept"
