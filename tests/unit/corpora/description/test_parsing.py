"""Descriptions of one's own, and what is said about a bad one."""

import copy
import json
from pathlib import Path

from tdo_plugin.corpora.description import Corpus, Member, load

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


def changed(*changes: tuple[tuple, object]) -> dict:
    """GOOD with changes, each the path of a value and the value."""
    document = copy.deepcopy(GOOD)
    for (*path, last), value in changes:
        place = document
        for step in path:
            place = place[step]
        place[last] = value
    return document


def loaded(tmp_path: Path, document: dict) -> Corpus:
    (tmp_path / "mine.json").write_text(json.dumps(document), encoding="utf-8")
    return load(str(tmp_path / "mine.json"))


def test_a_description_of_ones_own(tmp_path):
    corpus = loaded(tmp_path, GOOD)
    assert corpus.name == "mine"
    assert corpus.valid_pairs == corpus.train_pairs == (("en", "de"), ("en", "fr"))
    assert corpus.sets[0].members == (Member("a.tgz", "en-de.en"), Member("a.tgz", "en-de.de"))


def test_all_mistakes_are_told_at_once(refused, tmp_path):
    document = changed(
        (("titel",), "A"),
        (("sets", 0, "format"), "csv"),
        (("sets", 1, "rows"), "some"),
        (("clean", "train"), [{"rule": "length", "most": "many", "unit": "tokens"}]),
        (("archives", "a.tgz", "urls"), ["ftp://localhost/a.tgz"]),
        (("segmentation", "vocab_size"), True),
    )
    with refused.raised("several mistakes", names="it has 7: "):
        loaded(tmp_path, document)


ZERO_SHOT = {**GOOD["sets"][1], "pairs": ["de-fr"]}
TOKENS_FIRST = [{"rule": "ratio", "most": 2, "unit": "tokens"}, {"rule": "same"}]
AT_SOURCE = {"casing": "cased", "tokenization": "none", "tokenized_at_source": True}
TWICE = [{"language": "en", "archive": "a.tgz", "rows": rows} for rows in (1, 2)]
ARCHIVE = ("archives", "a.tgz")


def test_what_contradicts_itself(refused, tmp_path):
    for path, value, names in (
        (("languages",), ["en", "de", "fr", "de"], "languages must"),
        (("centre",), "nl", "nl"),
        (("train",), ["en-de", "en-nl"], "en-nl"),
        (("train",), ["en-de", "de-en"], "train must"),
        (("test",), ["de-en"], "test must name de-en"),
        (("sets", 1, "pairs"), ["de-en"], "sets[1].pairs"),
        (("test",), "all", "no set has test text for de-fr"),
        (("sets", 1, "pairs"), ["en-de", "de-fr"], "de-fr"),
        (("sets", 0, "archive"), "b.tgz", "archives must have b.tgz"),
        (("sets", 0, "members"), ["both"], "sets[0] must have 2 texts"),
        (("sets", 0, "members"), ["{lang}", "x"], "sets[0].members[0]"),
        (("sets", 0, "deal"), "de", "sets[0].deal"),
        ((*ARCHIVE, "urls"), ["http://h/{pair}"], "archives.a.tgz must not use pair"),
        (("hold_out", "valid"), {"every": 10, "rows": 5}, "every or rows"),
        (("segmentation", "bpe_operations"), 9, "vocab_size or bpe_operations"),
        (("segmentation",), {"model_type": "unigram", "bpe_operations": 9}, "model_type is bpe"),
        (("hold_out", "pairs"), ["de-fr"], "hold_out.pairs"),
        (("sets", 1, "split"), "valid", "hold_out makes the valid set of en-de"),
        (("train",), ["en-de"], "no pair has fr"),
        (("clean", "test"), [{"rule": "held-out"}], "clean.test"),
        (("sets", 0, "encoding"), "utf-9", "sets[0].encoding"),
        (("sets", 0, "options"), {"keep": []}, "sets[0].options.keep"),
        (("clean", "train"), [{"rule": "emtpy"}], "clean.train[0].rule"),
        (("clean", "train"), TOKENS_FIRST, "tokens last"),
        ((*ARCHIVE, "known"), {"en-de": [1, "abc"]}, "archives.a.tgz.known.en-de"),
        ((*ARCHIVE, "known"), {"en-de": [1, None]}, "archives.a.tgz.known has en-de"),
        (("form",), AT_SOURCE, "form.tokenization"),
        (("monolingual",), TWICE, "monolingual must"),
    ):
        with refused.raised(f"{path}: {value}", names=names):
            loaded(tmp_path, changed((path, value)))


def test_rows_are_dealt_by_the_language_wherever_it_stands(tmp_path):
    document = changed((("train",), ["de-en", "en-fr"]), (("sets", 0, "deal"), "en"))
    deals = [entry.deal for entry in loaded(tmp_path, document).sets if entry.deal]
    assert [(deal.side, deal.parts, deal.part) for deal in deals] == [(1, 2, 0), (0, 2, 1)]


def test_a_pair_without_training_text_is_called_alike_in_valid_and_test(refused, tmp_path):
    valid = {**ZERO_SHOT, "split": "valid", "pairs": ["fr-de"]}
    test_pairs = (("test",), ["en-de", "en-fr", "de-fr"])
    document = changed(test_pairs, (("sets",), [*GOOD["sets"], ZERO_SHOT, valid]))
    with refused.raised("de-fr and fr-de", names="it has 1: sets[3].pairs must name fr-de"):
        loaded(tmp_path, document)
