"""The text folder of all splits, and lines of one language alone."""

import errno
import os
from dataclasses import replace

import pytest
from support.folders import files_of

from tdo_plugin.corpora.description import Member, Monolingual, load
from tdo_plugin.corpora.pair_rows import Making, Record
from tdo_plugin.corpora.texts import write_texts
from tdo_plugin.metrics.textform import TextForm

TEXT = {"de": "Das Haus und das Dach\n", "en": "the house and the roof\n"}


@pytest.fixture
def making(tmp_path):
    text = Member("news", "")
    (tmp_path / "news").write_text("".join(f"line {n}\n\n" for n in range(50)), encoding="utf-8")
    alone = (Monolingual("en", text, 20, 1), Monolingual("de", text, 90, 1))
    corpus = replace(load("iwslt14-de-en"), monolingual=alone)
    corpus_making = Making(corpus, {text: (tmp_path / "news",)}, "source", tmp_path / "out")
    for language, line in TEXT.items():
        path = corpus_making.tokens("train", ("de", "en"), language)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line, encoding="utf-8")
    return corpus_making


TRAIN = Record("train", ("de", "en"), 1, {}, 1)
TEST = Record("test", ("de", "en"), 1, {}, 1)


def contents(folder):
    return {name: path.read_text(encoding="utf-8") for name, path in files_of(folder).items()}


def with_test_set(making, form):
    for language, line in TEXT.items():
        making.tokens("test", ("de", "en"), language).write_text(f"{line.strip()} .\n")
        path = making.held_out("test", ("de", "en"), language)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{line.strip()}.\n")
    return replace(making, corpus=replace(making.corpus, form=form))


@pytest.mark.parametrize("links", [True, False])
def test_what_is_not_truecased_is_there_with_or_without_links(making, links, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    left = making.work / "text" / "train.of-before.of"
    left.parent.mkdir()
    left.touch()
    folder = write_texts(making, [TRAIN], 1, str)
    assert contents(folder) == {f"train.de-en.{language}": line for language, line in TEXT.items()}
    files = [path for path in folder.iterdir() if path.is_file()]
    assert {path.stat().st_nlink for path in files} == {2 if links else 1}


@pytest.mark.parametrize(
    ("form", "plain"),
    [
        (TextForm("cased", "moses"), True),
        (TextForm("lowercased", "moses"), True),
        (TextForm("cased", "none", normalize_punctuation=True), True),
        (TextForm("cased", "moses", tokenized_at_source=True), False),
        (TextForm("lowercased"), False),
        (TextForm("truecased"), True),
        (TextForm("truecased", "moses"), True),
        (TextForm("truecased", "moses", tokenized_at_source=True), False),
    ],
)
def test_test_sets_are_kept_as_they_were_before_tokenization(making, form, plain):
    folder = write_texts(with_test_set(making, form), [TRAIN, TEST], 1, str)
    texts = contents(folder)
    truecased = form.casing == "truecased"
    words = "Das Haus und das Dach" if not truecased else "das Haus und das Dach"
    assert texts["test.de-en.de"] == f"{words} .\n"
    kept = {name: text for name, text in texts.items() if name.startswith("plain/")}
    names = {code: line.replace("\n", ".\n") for code, line in TEXT.items()} if plain else {}
    assert kept == {f"plain/test.de-en.{code}": text for code, text in names.items()}


def test_what_is_truecased_is_made_once_and_goes_with_its_corpus(making):
    cased = replace(with_test_set(making, TextForm("truecased", "moses")), source="another")
    folder = write_texts(cased, [TRAIN, TEST], 1, str)
    assert contents(folder)["test.de-en.de"] == "das Haus und das Dach .\n"
    model = cased.out / "truecase.de"
    assert model.read_text() == "Dach (1/1)\ndas (1/1)\nHaus (1/1)\nund (1/1)\n"
    times = {path: path.stat().st_mtime_ns for path in (cased.work / "cased").iterdir()}
    times[model] = model.stat().st_mtime_ns
    assert len(times) == 5
    write_texts(cased, [TRAIN, TEST], 1, str)
    assert {path: path.stat().st_mtime_ns for path in times} == times
    making.tokens("train", ("de", "en"), "de").write_text("das haus\n")
    write_texts(cased, [TRAIN, TEST], 1, str)
    changed = {path.name for path, time in times.items() if path.stat().st_mtime_ns != time}
    assert changed == {"truecase.de", "train.de-en.de", "test.de-en.de"}
    write_texts(making, [TRAIN], 1, str)
    assert not any(path.exists() for path in times)


def test_lines_of_one_language_are_drawn_in_their_order(making):
    messages = []
    write_texts(making, [TRAIN], 1, messages.append)
    drawn = (making.out / "mono" / "mono.en").read_text(encoding="utf-8").splitlines()
    every = [f"line {n}" for n in range(50)]
    assert len(drawn) == 20
    assert drawn == [line for line in every if line in drawn] != every[:20]
    assert (making.out / "mono" / "mono.de").read_text(encoding="utf-8").splitlines() == every
    assert "monolingual en: 50 lines, 20 kept" in messages
    none = replace(making, corpus=replace(making.corpus, monolingual=()))
    write_texts(none, [TRAIN], 1, str)
    assert not [*(making.out / "mono").iterdir()]
