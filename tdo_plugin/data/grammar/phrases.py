"""Lists of noun phrases and verb-object pairs, which the kinds of sentence combine."""

from __future__ import annotations

from tdo_plugin.data.grammar import concepts as c
from tdo_plugin.data.grammar.meaning import NP, PRONOUNS, Loc

VerbObject = tuple[str, NP, bool]
"""A verb, its object, and whether the clause is negated."""


def _fits(noun: str, adjective: str) -> bool:
    return (noun, adjective) not in c.ODD


def adjectives_of(noun: str) -> list[str]:
    """Adjectives that make sense with a noun."""
    return [a for a in c.ADJECTIVES[c.CLASS_OF[noun]].split() if _fits(noun, a)]


def names() -> list[NP]:
    return [NP(name, "none") for name in c.NAMES]


def pronouns() -> list[NP]:
    return [NP(pronoun, "none") for pronoun in PRONOUNS]


def persons_one() -> list[NP]:
    """Single persons for any role: names, and nouns with the, this, my, our."""
    phrases = names()
    for noun in c.PERSONS:
        phrases += [
            NP(noun, det) for det in (("my", "our", "the") if noun in c.KIN else ("the", "this"))
        ]
    return phrases


def persons() -> list[NP]:
    """Subjects: single persons and groups."""
    phrases = persons_one()
    plain = [noun for noun in c.PERSONS if noun not in c.KIN]
    for place, noun in enumerate(plain):
        phrases += [NP(noun, "the", plural=True), NP(noun, "this", plural=True)]
        phrases += [NP(noun, "num", plural=True, count=2 + (place + k) % 5) for k in (0, 2)]
    return phrases


def persons_described() -> list[NP]:
    return [
        NP(noun, det, plural=plural, adj=adj)
        for noun in c.PERSONS
        if noun not in c.KIN or noun in ("friend", "neighbor")
        for adj in adjectives_of(noun)
        for det, plural in (("the", False), ("this", False), ("the", True))
        if not (plural and noun in c.KIN)
    ]


def animals() -> list[NP]:
    phrases = []
    for place, noun in enumerate(c.ANIMALS):
        phrases += [
            NP(noun, det, adj=a) for a in ["", *adjectives_of(noun)] for det in ("the", "this")
        ]
        phrases += [NP(noun, "num", plural=True, count=2 + (place + k) % 6) for k in range(3)]
        phrases += [NP(noun, "my"), NP(noun, "our")]
    return phrases


def animal_meals() -> list[tuple[NP, VerbObject]]:
    """Animals with what they eat and drink."""
    pairs = []
    for animal in animals():
        meals = [("eat", food) for food in c.ANIMAL_FOOD[animal.head].split()]
        meals += [("drink", drink) for drink in c.ANIMAL_DRINK.get(animal.head, "water").split()]
        for verb, noun in meals:
            pairs += [(animal, pair) for pair in _polar(verb, NP(noun, "mass"))]
    return pairs


def _object_phrases(noun: str, bare: str, described: bool) -> list[NP]:
    """Object phrases of a noun; ``bare`` is its form without any other determiner."""
    if bare == "mass":
        return [NP(noun, "mass", adj=a) for a in (adjectives_of(noun) if described else [""])]
    phrases = []
    for adj in adjectives_of(noun) if described else [""]:
        phrases += [NP(noun, det, adj=adj) for det in (bare, "this", "my", "your", "our")]
        phrases.append(NP(noun, "this", plural=True, adj=adj))
        if bare == "a":
            phrases += [NP(noun, det, plural=True, adj=adj) for det in ("many", "some")]
            phrases += [
                NP(noun, "num", plural=True, count=n, adj=adj) for n in (2, 3, 4, 5, 6, 8, 10)
            ]
    return phrases


def _polar(verb: str, phrase: NP) -> list[VerbObject]:
    """The phrase, affirmed and negated; quantities are not negated, as their scope varies."""
    if phrase.det in ("many", "some", "num"):
        return [(verb, phrase, False)]
    return [(verb, phrase, False), (verb, phrase, True)]


def things_done(table: dict[str, tuple[str, str]], described: bool) -> list[VerbObject]:
    """All pairs of a verb of ``table`` and an object phrase; ``described``: with an adjective."""
    return [
        pair
        for verb, (bare, nouns) in table.items()
        for noun in nouns.split()
        for phrase in _object_phrases(noun, bare, described)
        for pair in _polar(verb, phrase)
    ]


def masses(table: dict[str, list[str]], described: bool) -> list[VerbObject]:
    return [
        pair
        for verb, nouns in table.items()
        for noun in nouns
        for phrase in _object_phrases(noun, "mass", described)
        for pair in _polar(verb, phrase)
    ]


def persons_met() -> list[VerbObject]:
    return [
        pair
        for verb in c.PERSON_OBJECTS
        for phrase in persons_one()
        for pair in _polar(verb, phrase)
    ]


def loves() -> list[VerbObject]:
    people = [NP(n, "this", adj=a) for n in c.PERSONS if n not in c.KIN for a in adjectives_of(n)]
    return [pair for verb in c.STATIVE for phrase in people for pair in _polar(verb, phrase)]


def times(*tenses: str) -> list[tuple[str, str, bool]]:
    """Tense, adverb of time, and whether the adverb comes first; always with an adverb."""
    return [
        (t, time, front) for t in tenses for time in c.TIMES[t].split() for front in (False, True)
    ]


def bare_times() -> list[tuple[str, str, bool]]:
    """The tenses that are distinct in all languages without an adverb."""
    return [("past", "", False), ("pres", "", False)]


def locations() -> list[Loc]:
    places = []
    for relation, nouns in c.RELATIONS.items():
        for noun in nouns.split():
            for adj in ["", "old", "new", "big", "small"]:
                if _fits(noun, adj) and adj in ["", *adjectives_of(noun)]:
                    places += [Loc(relation, NP(noun, det, adj=adj)) for det in ("the", "this")]
    return places


def existing() -> list[tuple[NP, bool, str]]:
    """Things at a location, whether this is negated, and the mood."""
    things = []
    for noun in [*c.ANIMALS, *c.FOOD, *c.TEXTS, *c.THINGS[:5], *c.THINGS[6:9], "knife", "hat"]:
        for adj in ["", *adjectives_of(noun)]:
            counted = [NP(noun, "num", plural=True, count=n, adj=adj) for n in range(2, 11)]
            single, many = NP(noun, "a", adj=adj), NP(noun, "many", plural=True, adj=adj)
            things.append((single, True, "decl"))
            things += [(np, False, m) for np in (single, *counted, many) for m in ("decl", "yesno")]
    return things
