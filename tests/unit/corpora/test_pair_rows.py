"""A split of a pair: what is read, drawn, cleaned, held out, limited, and not done twice."""

from collections import Counter
from dataclasses import replace

import pytest

from tdo_plugin.corpora import pair_rows as module
from tdo_plugin.corpora.description import Member
from tdo_plugin.corpora.description.parsing import parse
from tdo_plugin.corpora.pair_rows import Making, Record, split_step, tokenized
from tdo_plugin.corpora.rows.cleaning import HeldOut
from tdo_plugin.metrics.textform import TextForm
from tdo_plugin.runtime import jobs
from tdo_plugin.runtime.steps import Steps

PAIR = ("de", "en")
RULES = [{"rule": "empty"}]


def make(inputs, split, pair, held_out, seen):
    with Steps(inputs.out, 1, "splits") as steps:
        step = split_step(inputs, split, pair, held_out, seen)
        return Record(split, pair, **steps.run([step])[step.name])


def corpus_sets(*splits):
    return [
        {"split": split, "pairs": ["de-en"], "archive": [f"{split}.de", f"{split}.en"],
         "format": "lines"}
        for split in splits
    ]  # fmt: skip


def corpus(**changes):
    splits = ("train", "valid", "test")
    archives = [f"{split}.{language}" for split in splits for language in PAIR]
    document = {
        "title": "t", "paper": "p", "licence": "l", "cite": "c", "notes": [],
        "languages": ["de", "en"], "train": ["de-en"], "test": ["de-en"],
        "archives": {name: {"urls": [], "source": "none"} for name in archives},
        "sets": corpus_sets(*splits),
        "clean": {split: RULES for split in splits},
        "form": {"casing": "cased", "tokenization": "none"},
        "segmentation": {"model_type": "unigram", "vocab_size": 10},
        **changes,
    }  # fmt: skip
    return parse("own", document)


@pytest.fixture
def making(tmp_path):
    texts = {
        "train": [(f"eins {n}", f"one {n}") for n in range(100)]
        + [("", "empty"), ("vier", "four")],
        "valid": [("zwei", "two"), ("vier", "four")],
        "test": [("drei", "three")],
    }
    files = {}
    for split, rows in texts.items():
        for side, language in enumerate(PAIR):
            path = tmp_path / f"{split}.{language}"
            path.write_text("".join(row[side] + "\n" for row in rows), encoding="utf-8")
            files[Member(path.name, "")] = (path,)
    return lambda **changes: Making(corpus(**changes), files, "source", tmp_path / "out")


def text(inputs, split, language="de"):
    return inputs.tokens(split, PAIR, language).read_text(encoding="utf-8").split("\n")[:-1]


def test_rows_over_a_limit_are_counted(making):
    inputs = making(limit={"train": 10})
    record = make(inputs, "train", PAIR, None, "")
    assert (record.read, record.kept, len(text(inputs, "train"))) == (102, 10, 10)
    assert record.taken == {"over the limit": 91, "empty": 1}


@pytest.mark.parametrize("unit", ["characters", "tokens"])
def test_held_out_rows_are_in_one_split_only(making, unit):
    hold_out = {"valid": {"rows": 5}, "test": {"rows": 7}}
    short = {"rule": "length", "least": 1, "most": 20, "unit": unit}
    clean = {"train": [*RULES, short], "valid": RULES, "test": RULES}
    inputs = making(hold_out=hold_out, sets=corpus_sets("train"), clean=clean)
    kept = {split: make(inputs, split, PAIR, None, "").kept for split in ("test", "valid", "train")}
    assert kept == {"test": 7, "valid": 5, "train": 101 - 12}
    every = [line for split in kept for line in text(inputs, split)]
    assert len(set(every)) == 101


def test_a_split_that_is_held_out_is_held_against_test_as_well(making):
    clean = {"train": RULES, "valid": [*RULES, {"rule": "held-out"}], "test": RULES}
    inputs = making(
        hold_out={"valid": {"rows": 101}}, sets=corpus_sets("train", "test"), clean=clean
    )
    held_out = HeldOut()
    held_out.add("en", "one 3")
    record = make(inputs, "valid", PAIR, held_out, "seen")
    assert (record.kept, record.taken["held-out"]) == (100, 1)
    assert "eins 3" not in text(inputs, "valid")


@pytest.mark.parametrize("changes", [{}, {"hold_out": {"valid": {"rows": 5}}}], ids=str)
def test_a_sample_of_no_rows(making, changes, tmp_path):
    for language in PAIR:
        (tmp_path / f"train.{language}").write_text("")
    inputs = making(sample={"pairs": 20}, sets=corpus_sets("train", "test"), **changes)
    record = make(inputs, "train", PAIR, None, "")
    assert (record.read, record.kept) == (0, 0)


def test_temporary_files_are_in_the_data_folder(making, monkeypatch):
    folders = []

    def read(concrete_set, files, scratch, left_out):
        folders.append(scratch)
        return iter([("eins", "one")])

    monkeypatch.setattr(module, "read", read)
    inputs = making()
    assert [*module._rows(inputs, "train", PAIR, Counter())] == [("eins", "one")]
    assert folders == [inputs.work]


def test_what_is_whole_is_not_made_again(making):
    inputs = making()
    make(inputs, "test", PAIR, None, "")
    path = inputs.tokens("test", PAIR, "de")
    path.write_text("mine\n")
    assert make(inputs, "test", PAIR, None, "").kept == 1
    assert path.read_text() == "mine\n"  # as long as the true one
    make(inputs, "test", PAIR, None, "other sentences are held out")
    assert path.read_text() == "drei\n"
    path.write_text("half")
    make(inputs, "test", PAIR, None, "other sentences are held out")
    assert path.read_text() == "drei\n"


def test_the_bytes_do_not_depend_on_the_number_of_processes(making, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 7)
    length = {"rule": "length", "least": 2, "most": 9, "unit": "tokens"}
    rules = [*RULES, {"rule": "duplicates"}, length]
    inputs = making(
        clean={"train": rules, "valid": RULES, "test": RULES},
        form={"casing": "cased", "tokenization": "moses", "aggressive_hyphens": True},
    )
    results = []
    for processes in (1, 2, 5):
        run_inputs = replace(inputs, out=inputs.out / f"{processes}", processes=processes)
        record = make(run_inputs, "train", PAIR, None, "")
        results.append((record, *(text(run_inputs, "train", language) for language in PAIR)))
    assert results[0][0].kept == 100 and results[0] == results[1] == results[2]


@pytest.mark.parametrize(
    ("form", "processes", "tokens"),
    [
        (TextForm("cased", "moses"), 1, ("Ein Wort .", "A word .")),
        (TextForm("lowercased", "none"), 4, ("Ein Wort.", "A word.")),
        (TextForm("cased", "moses", tokenized_at_source=True), 4, ("Ein Wort.", "A word.")),
    ],
    ids=str,
)
def test_no_process_is_begun_needlessly(form, processes, tokens, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 2)
    monkeypatch.delattr(jobs, "start")
    row = ("Ein Wort.", "A word.")
    assert list(tokenized([row] * 9, PAIR, form, processes)) == [(*tokens, *row)] * 9
