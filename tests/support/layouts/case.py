"""What a test knows of a corpus: how its archives are made and what must be left of them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tdo_plugin.corpora.description import FOLDER, Corpus
from tdo_plugin.corpora.description.parsing import parse

Count = int | range
MOSES = {"casing": "cased", "tokenization": "moses", "plain_references": True}
NORMALIZED = {**MOSES, "normalize_punctuation": True, "aggressive_hyphens": True}
# a line with a number, and its tokens after that
MESSY = "\u201cWell-known\u201d {} \u2013 rule."
MESSY_TOKENS = "&quot; Well @-@ known &quot; {} - rule ."


@dataclass(frozen=True, eq=False)  # each is itself alone, so that functions can be cached by it
class Case:
    """A corpus in one form; what is of a set or of its lines has keys such as "train ar-en"."""

    name: str  # of the description
    # lays the archives into a folder by their addresses; returns those without one by their names
    write: Callable[[Path], Mapping[str, Path] | None]
    languages: str  # in the order of their tags
    rows: Mapping[str, Count]  # that are left; a range where chance decides
    variant: str = ""  # of the description
    only: str = ""  # languages that take part; "": all
    small: Callable[[Corpus], Corpus] = lambda corpus: corpus  # makes limits of thousands small
    # rows that each rule took, by the beginning of the rule's name
    taken: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    # rows that are left and whose sides are not translations
    odd: Mapping[str, Count] = field(default_factory=dict)
    # ("train.ar-en.en", line from 0) -> tokens before segmentation
    text: Mapping[tuple[str, int], str] = field(default_factory=dict)
    form: Mapping[str, str | bool] = field(default_factory=dict)  # as `prepared.json` has it

    def __str__(self) -> str:
        return "-".join(filter(None, (self.name, self.variant.replace(",", "-"))))

    def corpus(self, base: str) -> Corpus:
        """The description with its archives at a server, small enough for a test."""
        corpus = parse(self.name, served(self.name, base), self.variant)
        if self.only:
            corpus = some_pairs(corpus, self.only.split())
        pieces = replace(corpus.segmentation, vocab_size=600, bpe_operations=0, sentences=0)
        return self.small(replace(corpus, segmentation=pieces))

    def pairs(self, split: str) -> list[str]:
        """The pairs that must have a split."""
        return [name.split()[1] for name in self.rows if name.split()[0] == split]


def served(name: str, base: str) -> dict[str, Any]:
    """The JSON of a description whose addresses lead to a server and that knows no checksums."""
    document = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    for archive in document["archives"].values():
        addresses = [url.split("://")[1] for url in archive["urls"]]
        archive["urls"] = [f"{base}/{address}" for address in dict.fromkeys(addresses)]
        for fact in ("bytes", "sha256", "md5", "known"):
            archive.pop(fact, None)
    return document


def some_pairs(corpus: Corpus, languages: Sequence[str]) -> Corpus:
    """The corpus with those pairs alone whose languages are both named."""

    def kept(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple(pair for pair in pairs if set(pair) <= set(languages))

    hold_out, pieces = corpus.hold_out, corpus.segmentation
    hubs = tuple(language for language in pieces.hub_pairs if language in languages)
    return replace(
        corpus,
        languages=tuple(language for language in corpus.languages if language in languages),
        train_pairs=kept(corpus.train_pairs),
        valid_pairs=kept(corpus.valid_pairs),
        test_pairs=kept(corpus.test_pairs),
        sets=tuple(each for each in corpus.sets if set(each.pair) <= set(languages)),
        hold_out=hold_out and replace(hold_out, pairs=kept(hold_out.pairs)),
        segmentation=replace(pieces, hub_pairs=hubs),
    )


def fewer(corpus: Corpus, many: int, few: int) -> Corpus:
    """Sets that take so many of the first or last rows take fewer."""
    sets = (replace(each, rows=each.rows.replace(str(many), str(few))) for each in corpus.sets)
    return replace(corpus, sets=tuple(sets))
