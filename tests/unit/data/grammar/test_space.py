"""The numbered space of meanings: bijective, exact in number, deterministic, in every language."""

import re
from hashlib import blake2b
from importlib import import_module
from itertools import islice

import pytest

from tdo_plugin.data.embedded_corpus import draw
from tdo_plugin.data.grammar import LANGUAGES, concepts, linearize, space
from tdo_plugin.data.grammar.clauses import Kind
from tdo_plugin.data.grammar.kinds import make_kinds
from tdo_plugin.data.grammar.meaning import NP, Clause, Loc, Meaning
from tdo_plugin.data.grammar.permutation import permute, round_keys
from tdo_plugin.data.grammar.space import count_meanings, kind_sizes, locate, meaning_at


@pytest.mark.parametrize("size", [1, 2, 3, 10, 97, 1000])
def test_permutation_is_a_bijection(size):
    keys = round_keys("any", 1)
    assert sorted(permute(i, size, keys) for i in range(size)) == list(range(size))


def test_permutation_depends_on_its_key():
    orders = {tuple(permute(i, 100, round_keys(seed)) for i in range(100)) for seed in range(5)}
    assert len(orders) == 5


def test_there_are_at_least_ten_million_meanings():
    assert count_meanings() >= 10**7
    assert count_meanings() == sum(kind_sizes().values())


def test_count_is_exact_on_a_small_space(monkeypatch):
    kinds = [
        Kind("a", 2, (range(3), range(4)), lambda x, y: (x, y)),
        Kind("b", 1, (range(7),), lambda x: x),
        Kind("c", 3, (range(31),), lambda x: x),
    ]
    monkeypatch.setattr(space, "make_kinds", lambda: kinds)
    space._space.cache_clear()
    try:
        places = [space.locate(index, 5) for index in range(space.count_meanings())]
    finally:
        space._space.cache_clear()
    meanings = {(kind.name, rank) for kind, rank in places}
    assert len(places) == 12 + 7 + 30
    sizes = {"a": 12, "b": 7, "c": 30}
    assert meanings == {(kind, rank) for kind, size in sizes.items() for rank in range(size)}


def test_only_indices_of_the_space_have_a_meaning():
    assert linearize(meaning_at(count_meanings() - 1, 1), "en")
    for index in (-1, count_meanings()):
        with pytest.raises(IndexError, match="index must be"):
            meaning_at(index, 1)


@pytest.mark.parametrize("kind", make_kinds(), ids=lambda kind: kind.name)
def test_ranks_are_clauses_one_to_one(kind):
    ranks = {0, kind.size - 1, *range(0, kind.size, max(1, kind.size // 300))}
    clauses = {repr(kind.clause(rank)) for rank in ranks}
    assert len(clauses) == len(ranks)
    for part in kind.parts:
        if len(part) < 20000:
            assert len({repr(part[i]) for i in range(len(part))}) == len(part)


def test_every_kind_is_drawn_and_said_in_every_language():
    seen = {}
    for meaning in islice(draw("train", 4), 3000):
        seen.setdefault(meaning.kind, meaning)
    assert set(seen) == {kind.name for kind in make_kinds()}
    for meaning in seen.values():
        sentences = [linearize(meaning, language) for language in LANGUAGES]
        assert all(sentences) and len(set(sentences)) == len(sentences)


def test_the_same_address_is_the_same_meaning_for_every_seed():
    by_address, drawn = {}, 0
    for seed in range(5):
        for index in range(6000):
            kind, rank = locate(index, seed)
            if kind.name == "is_more":  # a small kind, in which seeds meet
                meaning = meaning_at(index, seed)
                drawn += 1
                assert (kind.name, rank) == meaning.address
                assert by_address.setdefault(meaning.address, meaning) == meaning
    assert len(by_address) < drawn


@pytest.mark.parametrize("language", LANGUAGES)
def test_lexicons_have_all_concepts_and_no_others(language):
    lexicon = import_module(f"tdo_plugin.data.grammar.{language}_lexicon")
    tables = {
        "NOUNS": concepts.NOUNS,
        "VERBS": concepts.VERBS,
        "ADJECTIVES": concepts.ALL_ADJECTIVES,
        "NAMES": concepts.NAMES,
        "PLACES": concepts.ALL_PLACES,
        "TIMES": concepts.ALL_TIMES,
    }
    for table, known in tables.items():
        assert set(getattr(lexicon, table)) == set(known), table


def test_the_documentation_says_what_is_so(root):
    text = (root / "docs" / "reference" / "corpus.md").read_text(encoding="utf-8")
    assert f"{count_meanings():,} meanings" in text
    assert f"{len(make_kinds())} kinds of sentence" in text
    shown = re.findall(r"^    (\w\w)  (.+)$", text, re.MULTILINE)
    birds = NP("bird", "this", plural=True, adj="white")
    teacher = NP("teacher", rel=Clause("draw", obj=birds, tense="past", time="last_year"))
    house = Loc("in", NP("house", "this", adj="small"))
    eggs = NP("egg", "num", plural=True, count=9, adj="good")
    clauses = [
        Clause("repair", teacher, NP("umbrella", "my"), tense="past", time="last_month"),
        Clause("exist", eggs, loc=house, tense="past", mood="yesno"),
    ]
    assert shown == [
        (language, linearize(Meaning("", 0, clause), language))
        for clause in clauses
        for language in LANGUAGES
    ]


def test_output_has_not_drifted():
    """Any change of words or order shows here; raise `corpus.VERSION` with it."""
    digest = blake2b(digest_size=8)
    for index in range(400):
        meaning = meaning_at(index, 1)
        for language in LANGUAGES:
            digest.update(linearize(meaning, language).encode())
    assert digest.hexdigest() == "377a4223c4654643"
