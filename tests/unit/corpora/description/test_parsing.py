"""Descriptions of one's own, and what is said about a bad one."""

import copy
import json
from pathlib import Path

import pytest

from tdo_plugin.corpora.description import Member, load
from tdo_plugin.errors import UserError

GOOD = {
    "title": "A corpus",
    "paper": "none",
    "licence": "CC0",
    "cite": "nobody",
    "notes": [],
    "languages": ["en", "de", "fr"],
    "centre": "en",
    "train": "centre",
    "test": "train",
    "archives": {"a.tgz": {"urls": ["http://localhost/a.tgz"], "source": "here"}},
    "sets": [
        {
            "split": split,
            "pairs": "train",
            "archive": "a.tgz",
            "format": "lines",
            "members": ["{pair}.{src}", "{pair}.{tgt}"],
        }
        for split in ("train", "test")
    ],
    "hold_out": {"valid": {"every": 10}},
    "clean": {"train": [{"rule": "empty"}], "valid": [], "test": []},
    "form": {"casing": "cased", "tokenization": "none"},
    "segmentation": {"model_type": "bpe", "vocab_size": 100},
}


def mistakes(tmp_path: Path, *changes: tuple[tuple, object]) -> str:
    """What `load` says about GOOD with changes, each the path of a value and the value."""
    document = copy.deepcopy(GOOD)
    for (*path, last), value in changes:
        place = document
        for step in path:
            place = place[step]
        place[last] = value
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserError) as error:
        load(str(file))
    text = str(error.value)
    assert text.startswith("`mine` must be a description without mistakes; it has ")
    assert "\n" not in text
    return text


def test_a_description_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(GOOD), encoding="utf-8")
    corpus = load(str(tmp_path / "mine.json"))
    assert corpus.name == "mine"
    assert corpus.valid_pairs == corpus.train_pairs == (("en", "de"), ("en", "fr"))
    assert corpus.sets[0].members == (Member("a.tgz", "en-de.en"), Member("a.tgz", "en-de.de"))


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = mistakes(
        tmp_path,
        (("titel",), "A"),
        (("sets", 0, "format"), "csv"),
        (("sets", 1, "rows"), "some"),
        (("clean", "train"), [{"rule": "length", "most": "many", "unit": "tokens"}]),
        (("archives", "a.tgz", "urls"), ["ftp://localhost/a.tgz"]),
        (("segmentation", "vocab_size"), True),
    )
    assert "it has 7: " in text
    for part in (
        "titel is not a known key",
        "sets[0].format must be one of lines, tagged, segments, tsv, multiway-tsv, tmx; it is",
        'sets[1].rows must be all, first:N, last:N or without:FIRST:LAST; it is "some"',
        "clean.train[0].least must be set",
        'clean.train[0].most must be a whole number from 1; it is "many"',
        "archives.a.tgz.urls[0] must be an http(s) address",
        "segmentation.vocab_size must be a whole number from 1; it is true",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("languages",), ["en", "de", "fr", "de"], "languages must name each language once"),
        (("centre",), "nl", "centre must name languages of the corpus; nl is not one"),
        (
            ("train",),
            ["en-de", "en-nl"],
            "train must name pairs of the languages; en-nl is not one",
        ),
        (("train",), ["en-de", "de-en"], "train must name each pair once"),
        (("test",), ["de-en"], "test must name de-en as elsewhere, en-de"),
        (("sets", 1, "pairs"), ["de-en"], "sets[1].pairs must name de-en as elsewhere, en-de"),
        (("test",), "all", "no set has test text for de-fr"),
        (("sets", 1, "pairs"), ["en-de", "de-fr"], "test must have de-fr, which a set is"),
        (("sets", 0, "archive"), "b.tgz", "archives must have b.tgz"),
        (("sets", 0, "members"), ["both"], "sets[0] must have 2 texts in the format lines"),
        (("sets", 0, "members"), ["{lang}", "x"], "sets[0].members[0] must be text with no other"),
        (("sets", 0, "deal"), "de", "sets[0].deal must be a language of each of its pairs"),
        (("archives", "a.tgz", "urls"), ["http://h/{pair}"], "archives.a.tgz must not use pair"),
        (("hold_out", "valid"), {"every": 10, "rows": 5}, "object with either every or rows"),
        (("segmentation", "bpe_operations"), 9, "with either vocab_size or bpe_operations"),
        (
            ("segmentation",),
            {"model_type": "unigram", "bpe_operations": 9},
            "segmentation must be an object whose model_type is bpe if it has bpe_operations",
        ),
        (("hold_out", "pairs"), ["de-fr"], "hold_out.pairs must be in train; de-fr is not"),
        (
            ("sets", 1, "split"),
            "valid",
            "hold_out makes the valid set of en-de, but another set is",
        ),
        (("train",), ["en-de"], "train must have each of the languages; no pair has fr"),
        (("clean", "test"), [{"rule": "held-out"}], "clean.test cannot have held-out"),
        (("sets", 0, "encoding"), "utf-9", "sets[0].encoding must be the name of an encoding"),
        (("sets", 0, "options"), {"keep": []}, "sets[0].options.keep is not a known key"),
        (("clean", "train"), [{"rule": "emtpy"}], "clean.train[0].rule must be one of empty"),
        (
            ("clean", "train"),
            [{"rule": "ratio", "most": 2, "unit": "tokens"}, {"rule": "same"}],
            "clean.train must have rules on tokens last",
        ),
        (
            ("archives", "a.tgz", "known"),
            {"en-de": [1, "abc"]},
            "archives.a.tgz.known.en-de must be [bytes, SHA-256]",
        ),
        (
            ("archives", "a.tgz", "known"),
            {"en-de": [1, None]},
            "archives.a.tgz.known has en-de, but no archive",
        ),
        (
            ("form",),
            {"casing": "cased", "tokenization": "none", "tokenized_at_source": True},
            "form.tokenization must be set if tokenized_at_source is true",
        ),
        (
            ("monolingual",),
            [{"language": "en", "archive": "a.tgz", "rows": n} for n in (1, 2)],
            "monolingual must name each language once",
        ),
    ],
)
def test_what_contradicts_itself(tmp_path: Path, path: tuple, value: object, message: str) -> None:
    assert message in mistakes(tmp_path, (path, value))


def test_rows_are_dealt_by_the_language_wherever_it_stands(tmp_path: Path) -> None:
    document = {**GOOD, "train": ["de-en", "en-fr"]}
    document["sets"] = [{**GOOD["sets"][0], "deal": "en"}, GOOD["sets"][1]]
    (tmp_path / "mine.json").write_text(json.dumps(document), encoding="utf-8")
    deals = [entry.deal for entry in load(str(tmp_path / "mine.json")).sets if entry.deal]
    assert [(deal.side, deal.parts, deal.part) for deal in deals] == [(1, 2, 0), (0, 2, 1)]


def test_a_pair_without_training_text_is_called_alike_in_valid_and_test(tmp_path: Path) -> None:
    zero_shot = {**GOOD["sets"][1], "pairs": ["de-fr"]}
    valid = {**zero_shot, "split": "valid", "pairs": ["fr-de"]}
    text = mistakes(
        tmp_path,
        (("test",), ["en-de", "en-fr", "de-fr"]),
        (("sets",), [*GOOD["sets"], zero_shot, valid]),
    )
    assert "it has 1: sets[3].pairs must name fr-de as elsewhere, de-fr" in text
