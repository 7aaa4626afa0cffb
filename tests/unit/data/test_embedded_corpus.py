"""The corpus on disk: files, splits, determinism, memory, and what is refused."""

import json
import tracemalloc
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from support.folders import contents

from tdo_plugin.data import embedded_corpus
from tdo_plugin.data.corpus_settings import SHARES, CorpusSettings
from tdo_plugin.data.embedded_corpus import add_to_corpus, draw, split_of, write_corpus
from tdo_plugin.data.grammar import LANGUAGES, locate
from tdo_plugin.errors import UserError

SMALL = {"train": 60, "valid": 12, "test": 15}


def settings(*languages, **changes):
    return CorpusSettings(languages or ("en", "de", "tr"), **{**SMALL, **changes})


def lines(path):
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text.splitlines()


def test_files_and_sizes(tmp_path):
    write_corpus(tmp_path / "c", settings())
    pairs = [f"{split}.en-{x}.{side}" for split in ("train", "valid") for x in ("de", "tr")
             for side in ("en", x)]  # fmt: skip
    tests = ["test.en", "test.de", "test.tr"]
    assert set(contents(tmp_path / "c")) == {*pairs, *tests, "corpus.json"}
    for name in [*pairs, *tests]:
        assert len(lines(tmp_path / "c" / name)) == SMALL[name.split(".")[0]]
    record = json.loads((tmp_path / "c" / "corpus.json").read_text())
    version = embedded_corpus.VERSION
    known = {"languages": ["en", "de", "tr"], "seed": 1, "version": version, "share_center": False}
    assert record == {**record, **known}


def test_another_center(tmp_path):
    write_corpus(tmp_path / "c", settings("en", "de", "ja", center="de", valid=0))
    names = set(contents(tmp_path / "c"))
    assert {"train.de-en.de", "train.de-en.en", "train.de-ja.ja"} < names
    assert not any(name.startswith(("valid", "train.en")) for name in names)


def test_equal_seeds_give_equal_files_and_others_do_not(tmp_path):
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        write_corpus(tmp_path / name, settings(seed=seed))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    reseeded = contents(tmp_path / "c")
    assert all(reseeded[name] != text for name, text in contents(tmp_path / "a").items())


@pytest.mark.parametrize("shared", [False, True])
def test_pairs_share_english_only_if_asked_to(tmp_path, shared):
    write_corpus(tmp_path / "c", settings(share_center=shared))
    de, tr = (lines(tmp_path / "c" / f"train.en-{x}.en") for x in ("de", "tr"))
    assert (de == tr) == shared
    assert len(set(de + tr)) == (60 if shared else 120)


@pytest.mark.parametrize("share_center", [False, True])
def test_a_pair_of_fewer_lines_has_the_first_of_those_that_it_would_have(tmp_path, share_center):
    sizes = {"en-de": 20, "en-tr": 60, "en-fr": 0}
    languages = ("en", "de", "tr", "fr")
    for name, train in (("whole", 60), ("cut", sizes)):
        write_corpus(tmp_path / name, settings(*languages, train=train, share_center=share_center))
    whole, cut = contents(tmp_path / "whole"), contents(tmp_path / "cut")
    assert json.loads(cut.pop("corpus.json"))["train_pairs_per_language"] == sizes
    assert set(whole) - set(cut) == {"corpus.json", "train.en-fr.en", "train.en-fr.fr"}
    for name, text in cut.items():
        size = sizes[name.split(".")[1]] if name.startswith("train") else 60
        assert text.splitlines() == whole[name].splitlines()[:size]


def test_valid_and_test_are_apart_from_train_for_all_seeds(tmp_path):
    english = {"train": set(), "valid": set(), "test": set()}
    for seed in (1, 2, 3):
        write_corpus(tmp_path / f"{seed}", settings(seed=seed, train=400, valid=60, test=60))
        for path in (tmp_path / f"{seed}").glob("*.en"):
            english[path.name.split(".")[0]] |= set(lines(path))
    assert not english["train"] & english["test"]
    assert not english["train"] & english["valid"]
    assert not english["valid"] & english["test"]


def test_no_duplicates_within_a_split_and_nobody_acts_on_himself():
    for split in ("train", "valid", "test"):
        meanings = [*islice(draw(split, 2), 1500)]
        assert len({meaning.address for meaning in meanings}) == 1500
        clauses = [meaning.clause for meaning in meanings]
        assert not any(c.obj and c.subj and c.obj.head == c.subj.head for c in clauses)


def test_each_meaning_has_one_split_in_its_share():
    counts = Counter(
        split_of(kind.name, rank) for kind, rank in (locate(index, 1) for index in range(8000))
    )
    for split, share in SHARES.items():
        assert counts[split] == pytest.approx(8000 * share / 256, rel=0.1)


def peak(tmp_path, count):
    tracemalloc.start()
    write_corpus(tmp_path / f"{count}", settings("en", "ja", train=count, valid=0, test=0))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_memory_does_not_grow(tmp_path):
    """Caches of word forms fill up in the first run; ten times the lines must then fit."""
    write_corpus(tmp_path / "warm", settings("en", "ja", train=2000, valid=0, test=0, seed=1))
    short, long = peak(tmp_path, 200), peak(tmp_path, 2000)
    assert long < short + 24_000  # 13 bytes a line


def test_bad_settings(refused, tmp_path):
    refused.rows(
        """
        corpus --out {out}
            --langs en,xx                                     :: --langs
            --langs en,de,en                                  :: --langs
            --langs en                                        :: --langs
            --langs de,fr                                     :: --hub
            --train -1                                            :: --train
            --valid -5                                            :: --valid
            --train 1000000000000000                              :: --train
            --langs en,de --train en-de=1000000000000000      :: --train
            --langs en,de --train en-de=-2                    :: --train
            --langs en,de,fr --train en-de=3                  :: --train
            --langs en,de --train en-de=3,de-en=3             :: --train
        """,
        out=tmp_path / "c",
    )
    with refused.raised("more test sentences than meanings", names="--test"):
        settings(test=10**15)


def test_a_folder_with_files_is_refused_unless_forced(tmp_path):
    out = tmp_path / "c"
    out.mkdir()
    write_corpus(out, settings(train=3))
    before = contents(out)
    with pytest.raises(UserError, match="`--out` must be new or empty unless `--fresh`"):
        write_corpus(out, settings(train=4))
    assert contents(out) == before
    (out / "stale.txt").write_text("old")
    write_corpus(out, settings(train=4), fresh=True)
    assert len(lines(out / "train.en-de.en")) == 4
    assert not (out / "stale.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_pairs_are_added_to_what_is_there(tmp_path):
    out, further = tmp_path / "c", settings("es", "fr", center="es", seed=2, test=0)
    write_corpus(out, settings("de", "es", "fr", center="de"))
    first = contents(out)
    (out / "notes.txt").write_text("mine")
    add_to_corpus(out, further)
    write_corpus(tmp_path / "alone", further)
    alone, both = contents(tmp_path / "alone"), contents(out)
    records = [json.loads(texts.pop("corpus.json")) for texts in (first, alone, both)]
    assert both == {**first, **alone, "notes.txt": b"mine"}
    assert records[2] == {**records[0], "added": [records[1]]}
    add_to_corpus(out, settings("en", "es", seed=1, train=2))
    third = contents(out)
    assert third["test.es"] == first["test.es"] and third["test.en"].count(b"\n") == 15
    added = json.loads(third.pop("corpus.json"))["added"]
    assert [part["train_pairs_per_language"] for part in added] == [60, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "c"]


def test_what_does_not_fit_what_is_there_is_not_added(refused, tmp_path):
    out = tmp_path / "c"
    write_corpus(out, settings())
    before = contents(out)
    refused.rows(
        """
        corpus --add --out {out}
            --langs de,en --hub de                     :: de-en
            --langs fr,de --hub fr --test 15 --seed 2  :: --test
            --langs fr,de --hub fr --test 9            :: --test
        """,
        out=out,
    )
    assert contents(out) == before
    newer = before.pop("corpus.json").replace(b'"version": 1', b'"version": 2')
    pair = ("--langs", "de,tr", "--hub", "de")
    for record, names in (
        (b"{", "corpus.json"),
        (b'{"version": 1}', "corpus.json"),
        (newer, "version 1"),
    ):
        (out / "corpus.json").write_bytes(record)
        refused("corpus", "--add", "--out", out, *pair, names=names, case=record[:14])
    (out / "corpus.json").unlink()
    refused("corpus", "--add", "--out", out, *pair, names="--out", case="no record")
    assert contents(out) == before


def test_a_file_in_the_way_is_refused(refused, tmp_path):
    out = tmp_path / "c"
    out.write_text("mine")
    refused("corpus", "--fresh", "--out", out, names="--out")
    refused("corpus", "--out", out / "below", names="--out")
    assert out.read_text() == "mine"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("way", ["write", "replace", "add"])
def test_an_interrupt_leaves_nothing_half_written(tmp_path, monkeypatch, error, way):
    out, existed = tmp_path / "c", way != "write"
    if existed:
        write_corpus(out, settings(train=3))
    before = contents(out) if existed else None
    calls = Counter()

    def say(meaning, language):
        calls["n"] += 1
        if calls["n"] > 50:
            raise error
        return "word"

    monkeypatch.setattr(embedded_corpus, "linearize", say)
    expected = KeyboardInterrupt if error is KeyboardInterrupt else UserError
    with pytest.raises(expected):
        if way == "add":
            add_to_corpus(out, settings("de", "tr", center="de", test=0))
        else:
            write_corpus(out, settings(), fresh=True)
    assert [path.name for path in tmp_path.iterdir()] == (["c"] if existed else [])
    assert not existed or contents(out) == before


def test_a_new_corpus_that_cannot_be_put_in_place_leaves_the_old_one_there(tmp_path, monkeypatch):
    out = tmp_path / "c"
    write_corpus(out, settings(train=3))
    before, rename = contents(out), Path.rename

    def fails(path, target):
        if target == out and path.name == "new":
            raise OSError(5, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fails)
    with pytest.raises(UserError, match=r"`--out` must be writable; .*: Input/output error"):
        write_corpus(out, settings(train=4), fresh=True)
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_all_languages_have_the_same_test_meanings(tmp_path):
    write_corpus(tmp_path / "c", settings(*LANGUAGES))
    questions = {
        tuple(line.rstrip("。").endswith(("?", "か")) for line in lines(path))
        for path in (tmp_path / "c").glob("test.*")
    }
    assert [len(marks) for marks in questions] == [15]  # the same in all languages
