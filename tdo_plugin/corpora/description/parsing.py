"""Converts a description's JSON to a `Corpus`, and reports all problems together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tdo_plugin.corpora.description.expansion import (
    expand_archives,
    expand_set,
    fill,
    language_names,
)
from tdo_plugin.corpora.description.pairs import PairNames
from tdo_plugin.corpora.description.schema import (
    HELD_OUT,
    SPLITS,
    ConcreteSet,
    Corpus,
    HoldOut,
    Member,
    Monolingual,
    Pair,
    Rule,
    Sample,
    Take,
)
from tdo_plugin.corpora.description.wellformed import DESCRIPTION, VARIANTS
from tdo_plugin.data.joint_model import SegmentationSettings
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import TextForm


def parse(name: str, document: Any, variant: str = "") -> Corpus:
    """The corpus that `document` describes, in a variant; "a,b" is variant a with b applied to it.

    Raises:
        UserError: the description has mistakes (all are listed), or the variant is unknown.
    """
    if not isinstance(document, dict):
        raise UserError(f"`{name}` must be a description, a JSON object; it is not")
    base = {key: value for key, value in document.items() if key != "variants"}
    variants = document.get("variants", {})
    _refuse(name, [*DESCRIPTION(base, ""), *VARIANTS(variants, "variants")])
    requested = [word.strip() for word in variant.split(",") if word.strip()]
    for word in requested:
        if word not in variants:
            choice = f"one of {', '.join(variants)}" if variants else f"left out for {name}"
            raise UserError(f"`--variant` must be {choice}; it is {word}")
        base |= variants[word]
    chosen = {key: value for key, value in base.items() if key != "about" and value is not None}
    _refuse(name, [*DESCRIPTION(chosen, "")])
    about = {word: entry["about"] for word, entry in variants.items()}
    mistakes: list[str] = []
    corpus = _corpus(chosen, mistakes, name=name, variant=",".join(requested), variants=about)
    _refuse(name, mistakes)
    return corpus


def _refuse(name: str, mistakes: list[str]) -> None:
    if mistakes:
        raise UserError(
            f"`{name}` must be a description without mistakes; it has {len(mistakes)}: "
            + "; ".join(dict.fromkeys(mistakes))
        )


def _corpus(document: Mapping[str, Any], mistakes: list[str], **about: Any) -> Corpus:
    _check_languages(document, mistakes)
    codes = document.get("codes", {})
    pairs = PairNames(document, mistakes)
    hold_out = _hold_out(document.get("hold_out"), pairs)
    entries = [
        (f"sets[{number}]", entry, pairs.resolve(f"sets[{number}].pairs", entry["pairs"]))
        for number, entry in enumerate(document["sets"])
    ]
    sets = [concrete_set for each in entries for concrete_set in expand_set(*each, codes, mistakes)]
    held = hold_out.pairs if hold_out else ()
    has = {
        split: _pairs_of(sets, split, held if getattr(hold_out, split, None) else ())
        for split in SPLITS
    }
    every = list(dict.fromkeys(pair for split in SPLITS for pair in has[split]))
    corpus = Corpus(
        **about,
        **{key: document[key] for key in ("title", "paper", "licence", "cite")},
        notes=tuple(document["notes"]),
        languages=tuple(document["languages"]),
        codes=codes,
        centre=document.get("centre"),
        train_pairs=pairs.train,
        valid_pairs=tuple(sorted(has["valid"], key=lambda pair: pair not in pairs.train)),
        test_pairs=pairs.test,
        archives=expand_archives(document, every, not about["variant"], mistakes),
        sets=tuple(sets),
        sample=Sample(**{"seed": 1, **document["sample"]}) if "sample" in document else None,
        hold_out=hold_out,
        limit=document.get("limit", {}),
        clean={split: _rules(document["clean"][split]) for split in SPLITS},
        form=TextForm(**document["form"]),
        segmentation=_segmentation(document["segmentation"]),
        monolingual=tuple(_monolingual(entry, codes) for entry in document.get("monolingual", [])),
    )
    _check_pairs(corpus, has, mistakes)
    _check_archives(corpus, mistakes)
    _check_rules(corpus, mistakes)
    _check_text(corpus, mistakes)
    return corpus


def _pairs_of(sets: Iterable[ConcreteSet], split: str, held: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(
        dict.fromkeys(
            (*(concrete_set.pair for concrete_set in sets if concrete_set.split == split), *held)
        )
    )


def _hold_out(entry: Mapping[str, Any] | None, pairs: PairNames) -> HoldOut | None:
    if entry is None:
        return None
    takes = {split: Take(**entry[split]) for split in ("valid", "test") if split in entry}
    named = pairs.resolve("hold_out.pairs", entry.get("pairs", "train"))
    return HoldOut(named, entry.get("seed", 1), **takes)


def _rules(entries: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    return tuple(Rule(**entry) for entry in entries)


def _segmentation(entry: Mapping[str, Any]) -> SegmentationSettings:
    return SegmentationSettings(**{**entry, "hub_pairs": tuple(entry.get("hub_pairs", ()))})


def _monolingual(entry: Mapping[str, Any], codes: Mapping[str, str]) -> Monolingual:
    names = language_names(entry["language"], codes)
    text = Member(fill(entry["archive"], names), fill(entry.get("member", ""), names))
    return Monolingual(entry["language"], text, entry["rows"], entry.get("seed", 1))


def _check_languages(document: Mapping[str, Any], mistakes: list[str]) -> None:
    languages: Sequence[str] = document["languages"]
    if len(set(languages)) < len(languages):
        mistakes.append("languages must name each language once")
    named = {
        "centre": [document["centre"]] if "centre" in document else [],
        "codes": document.get("codes", {}),
        "segmentation.hub_pairs": document["segmentation"].get("hub_pairs", []),
        "monolingual": [entry["language"] for entry in document.get("monolingual", [])],
    }
    mistakes += [
        f"{where} must name languages of the corpus; {language} is not one"
        for where, mentioned in named.items()
        for language in mentioned
        if language not in languages
    ]


def _check_pairs(corpus: Corpus, has: Mapping[str, tuple[Pair, ...]], mistakes: list[str]) -> None:
    for split, named in (("train", corpus.train_pairs), ("test", corpus.test_pairs)):
        for pair in named:
            if pair not in has[split]:
                mistakes.append(f"no set has {split} text for {'-'.join(pair)}")
        for pair in has[split]:
            if pair not in named:
                mistakes.append(f"{split} must have {'-'.join(pair)}, which a set is for")
    held = corpus.hold_out.pairs if corpus.hold_out else ()
    for pair in held:
        if pair not in corpus.train_pairs:
            mistakes.append(f"hold_out.pairs must be in train; {'-'.join(pair)} is not")
    for concrete_set in corpus.sets:
        if concrete_set.pair in held and getattr(corpus.hold_out, concrete_set.split, None):
            name = "-".join(concrete_set.pair)
            mistakes.append(
                f"hold_out makes the {concrete_set.split} set of {name}, but another set is for it"
            )
    for language in corpus.languages:
        if not any(language in pair for pair in corpus.train_pairs):
            mistakes.append(f"train must have each of the languages; no pair has {language}")


def _check_archives(corpus: Corpus, mistakes: list[str]) -> None:
    for name in corpus.members_needed():
        if name not in corpus.archives:
            mistakes.append(f"archives must have {name}")


def _check_text(corpus: Corpus, mistakes: list[str]) -> None:
    if corpus.form.tokenized_at_source and corpus.form.tokenization == "none":
        mistakes.append("form.tokenization must be set if tokenized_at_source is true")
    alone = [text.language for text in corpus.monolingual]
    if len(set(alone)) < len(alone):
        mistakes.append("monolingual must name each language once")


def _check_rules(corpus: Corpus, mistakes: list[str]) -> None:
    for split, rules in corpus.clean.items():
        on_tokens = [rule.unit == "tokens" for rule in rules]
        if on_tokens != sorted(on_tokens):
            mistakes.append(f"clean.{split} must have rules on tokens last")
    for rule in corpus.clean["test"]:
        if rule.rule in HELD_OUT:
            mistakes.append(f"clean.test cannot have {rule.rule}: nothing is held out before test")
