"""The kinds of sentence: each is a product of lists and a function that joins their elements."""

# ruff: noqa: SIM905
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from tdo_plugin.data.grammar import concepts as c
from tdo_plugin.data.grammar import phrases as p
from tdo_plugin.data.grammar.meaning import NP, Clause, Loc

Time = tuple[str, str, bool]


@dataclass(frozen=True)
class Kind:
    """``weight`` is the kind's share in a block of draws; ``size`` its number of meanings."""

    name: str
    weight: int
    parts: tuple[Sequence[Any], ...]
    build: Callable[..., Clause]

    @property
    def size(self) -> int:
        return prod(len(part) for part in self.parts)

    def clause(self, rank: int) -> Clause:
        """Mixed-radix decoding of ``rank`` in ``range(size)``: different ranks, other clauses."""
        chosen = []
        for part in self.parts:
            rank, digit = divmod(rank, len(part))
            chosen.append(part[digit])
        return self.build(*chosen)


def _done(subj: NP, act: p.VerbObject, when: Time, place: str = "", **more: Any) -> Clause:
    return Clause(
        act[0], subj, act[1], neg=act[2], tense=when[0], time=when[1], front=when[2], place=place,
        **more,
    )  # fmt: skip


def _intransitive(subj: NP, verb_place: tuple[str, str, str], when: Time, neg: bool) -> Clause:
    verb, place, manner = verb_place
    return Clause(
        verb, subj, tense=when[0], time=when[1], front=when[2], neg=neg, place=place, manner=manner
    )


def _with(subj: NP, verb_place: tuple[str, str, str], when: Time, other: NP) -> Clause:
    return replace(_intransitive(subj, verb_place, when, False), companion=other)


def _motion(subj: NP, way: tuple[str, str], when: Time, neg: bool) -> Clause:
    return Clause(way[0], subj, goal=way[1], tense=when[0], time=when[1], front=when[2], neg=neg)


def _motion_with(subj: NP, way: tuple[str, str], when: Time, other: NP) -> Clause:
    return replace(_motion(subj, way, when, False), companion=other)


def _animal_done(meal: tuple[NP, p.VerbObject], when: Time) -> Clause:
    return _done(meal[0], meal[1], when)


def _give(subj: NP, act: p.VerbObject, to: NP, when: Time) -> Clause:
    return _done(subj, act, when, to=to)


def _benefit(subj: NP, act: p.VerbObject, benefit: NP, when: Time) -> Clause:
    return _done(subj, act, when, benefit=benefit)


def _manner(subj: NP, act: p.VerbObject, when: Time, turn: int) -> Clause:
    manners = c.OBJECT_MANNERS[act[0]].split()
    return _done(subj, act, when, manner=manners[turn])


def _copula(subj_pred: tuple[NP, str], tense: str, how: tuple[str, bool]) -> Clause:
    subj, pred = subj_pred
    return Clause("be", subj, pred=pred, tense=tense, degree=how[0], neg=how[1])


def _compare(pair: tuple[NP, NP, str], tense: str) -> Clause:
    return Clause("be", pair[0], than=pair[1], pred=pair[2], tense=tense)


def _exist(what: tuple[NP, bool, str], loc: Loc, tense: str) -> Clause:
    return Clause("exist", what[0], neg=what[1], mood=what[2], loc=loc, tense=tense)


def _ask(subj: NP, act: p.VerbObject, when: Time, place: str) -> Clause:
    return replace(_done(subj, act, when, place, mood="yesno"), neg=False, front=False)


def _ask_who(act: p.VerbObject, when: Time) -> Clause:
    return Clause(act[0], None, act[1], tense=when[0], time=when[1], mood="who")


def _ask_what(subj: NP, verb: str, place: str, when: Time) -> Clause:
    return Clause(verb, subj, tense=when[0], time=when[1], place=place, mood="what")


def _ask_where(subj: NP, act: p.VerbObject, when: Time) -> Clause:
    return Clause(act[0], subj, act[1], tense=when[0], time=when[1], mood="where")


def _imperative(act: p.VerbObject, time: str) -> Clause:
    return Clause(act[0], NP("you", "none"), act[1], tense="fut", time=time, mood="imp")


def _modal(subj: NP, modal: tuple[str, bool], act: p.VerbObject, time: str) -> Clause:
    return Clause(act[0], subj, act[1], modal=modal[0], neg=modal[1], time=time, front=False)


def _joined(link: str) -> Callable[..., Clause]:
    def build(first: Clause, second: Clause) -> Clause:
        return replace(first, link=link, sub=second)

    return build


def _when(goal: tuple[str, str], who: NP, subj: NP, act: p.VerbObject) -> Clause:
    arrival = Clause(goal[0], who, goal=goal[1], tense="past")
    return Clause(act[0], subj, act[1], neg=act[2], tense="past", link="when", sub=arrival)


def _said(subj: NP, verb: str, neg: bool, content: Clause) -> Clause:
    return Clause(verb, subj, neg=neg, link="that", sub=content)


def _with_relative(head: tuple[str, str], rel: Clause, main: Clause) -> Clause:
    return replace(main, subj=NP(head[0], head[1], rel=rel))


def _of_relative(noun_pred: tuple[str, str], rel: Clause, tense: str, degree: str) -> Clause:
    head = NP(noun_pred[0], "the", rel=replace(rel, obj=None))
    return Clause("be", head, pred=noun_pred[1], tense=tense, degree=degree)


def _pair_done(pair: tuple[NP, NP], act: p.VerbObject, when: Time) -> Clause:
    return _done(replace(pair[0], also=pair[1]), act, when)


class _Products(Sequence[Clause]):
    """Clauses made on demand: a list that is as long as a kind, without its memory."""

    def __init__(self, *parts: Sequence[Any], build: Callable[..., Clause]) -> None:
        self._kind = Kind("", 1, parts, build)
        self._size = self._kind.size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, rank: Any) -> Any:
        return self._kind.clause(rank)


def _affirmed(pairs: list[p.VerbObject]) -> list[p.VerbObject]:
    return [pair for pair in pairs if not pair[2]]


def _brief(pairs: list[p.VerbObject]) -> list[p.VerbObject]:
    """Without what is long in some language, so that two clauses stay within 25 words."""
    return [pair for pair in pairs if pair[0] != "visit" and pair[1].head != "potato"]


def _brief_times(times: list[Time], fronted: bool = False) -> list[Time]:
    long = ("two_days_ago", "yesterday_evening", "tomorrow_morning")
    return [t for t in times if t[1] not in long and (fronted or not t[2])]


def _intransitive_places(manner: bool) -> list[tuple[str, str, str]]:
    special = {"work": c.WORK_PLACES, "play": c.PLAY_PLACES, "swim": c.SWIM_PLACES}
    return [
        (verb, place, way)
        for verb in c.INTRANSITIVE
        for place in special.get(verb, [x for x in c.PLACES if x not in ("airport", "office")])
        for way in (c.MANNERS[verb].split() if manner else [""])
    ]


def _comparisons() -> list[tuple[NP, NP, str]]:
    people = [noun for noun in c.PERSONS if noun not in ("child", "boy", "girl")]
    things = "car bag table chair box book suitcase computer bicycle lamp picture".split()
    found = []
    for label, nouns in (("person", people), ("thing", things)):
        for left in nouns:
            for right in nouns:
                for adj in c.COMPARABLE[label].split():
                    for det in ("this", "our" if left in c.KIN or label == "thing" else "the"):
                        one, other = NP(left, det), NP(right, "my" if right in c.KIN else "the")
                        if left != right and not (
                            label == "person" and adj == "young" and "grandmother" in (left, right)
                        ):
                            found.append((one, other, adj))
    return found


def _predications() -> list[tuple[NP, str]]:
    found = []
    for subject in [*p.persons_described(), *(s for s in p.persons_one() if s.det != "the")]:
        for pred in c.PREDICATES["person"].split():
            both = {subject.adj, pred}
            if (
                (subject.head, pred) in c.ODD
                or len(both) == 1
                or both in ({"rich", "poor"}, {"young", "old"}, {"smart", "kind"})
            ):
                continue
            if subject.head not in c.NAMES:
                found.append((subject, pred))
    for noun in [*c.CLOTHES, *c.MACHINES, *c.OPENABLE, *c.THINGS[:4], "table", "chair", "book"]:
        fitting = p.adjectives_of(noun)
        for adj in [a for a in fitting if a in ("red", "blue", "green", "white", "black")]:
            for pred in c.PREDICATES["thing"].split():
                if pred in fitting:
                    dets = ("the", "this", "my", "our")
                    found += [(NP(noun, det, adj=adj), pred) for det in dets]
    return found


def make_kinds() -> list[Kind]:
    """All kinds, the frequent ones first; the weights add up to the length of a block."""
    one, many, described, animal = p.persons_one(), p.persons(), p.persons_described(), p.animals()
    simple = p.things_done(c.TRANSITIVE, False) + p.masses(c.MASS_OBJECTS, False)
    rich = p.things_done(c.TRANSITIVE, True) + p.masses(c.MASS_OBJECTS, True)
    sudden, sudden_rich = p.things_done(c.PUNCTUAL, False), p.things_done(c.PUNCTUAL, True)
    met, gifts = (
        p.persons_met(),
        p.things_done({v: ("a", n) for v, n in c.DITRANSITIVE.items()}, False),
    )
    gifts_rich = p.things_done({v: ("a", n) for v, n in c.DITRANSITIVE.items()}, True)
    timed, bare, events = (
        p.times("past", "pres", "fut", "hab"),
        p.bare_times(),
        p.times("past", "fut"),
    )
    past, unfronted = p.times("past"), [t for t in p.times("past", "fut", "hab") if not t[2]]
    mobile = [v for v in rich if v[0] in c.EVERYWHERE_VERBS]
    mobile_simple = [v for v in simple + met if v[0] in c.EVERYWHERE_VERBS]
    careful = [v for v in _affirmed(rich) if v[0] in c.OBJECT_MANNERS]
    places, intr, intr_manner = c.PLACES, _intransitive_places(False), _intransitive_places(True)
    beasts = [
        (v, x, "") for v in c.ANIMAL_INTRANSITIVE for x in ("garden", "park", "forest", "village")
    ]
    goals = [*places, "lake", "sea"]
    ways = [(v, g) for v in c.MOTION for g in (c.FAR_PLACES if v == "travel" else goals)]
    both = [False, True]
    asked = [w for w in p.times("past", "fut", "hab") if not w[2]]
    addressed = [NP("you", "none"), NP("they", "none"), *one]
    modals = [("can", False), ("can", True), ("must", False), ("want", False), ("want", True)]
    modal_times = ["now", *c.TIMES["fut"].split()]
    pairs = [
        (a, b)
        for a in p.names() + [NP(x, "the") for x in c.PERSONS]
        for b in one
        if a.head != b.head
    ]
    brief, brief_rich = _brief(simple + met), _brief(_affirmed(rich + met))
    clause = _Products(one, brief, _brief_times(timed), build=_done)
    short = _Products(one, _affirmed(brief), _brief_times(unfronted), build=_done)
    relatives = _Products([None], brief_rich, _brief_times(past), build=_done)
    relatives_now = _Products([None], _affirmed(rich), [("pres", "", False)], build=_done)
    heads = [(n, d) for n in c.PERSONS if n not in c.KIN for d in ("the", "this")]
    mains = _Products([None], brief, _brief_times(timed, fronted=True), build=_done)
    mains_place = _Products([None], mobile_simple, bare, places, build=_done)
    return [
        Kind("act_time", 5, (many, simple, timed), _done),
        Kind("act_described", 5, (many, rich, timed + bare), _done),
        Kind("act_described_subject", 4, (described, simple + met, timed + bare), _done),
        Kind("act_place", 4, (many, mobile_simple, bare, places), _done),
        Kind("act_full", 4, (described, mobile, timed, places), _done),
        Kind("act_pronoun", 5, (p.pronouns(), mobile, timed, places), _done),
        Kind("act_manner", 3, (many, careful, [t for t in timed if not t[2]], range(3)), _manner),
        Kind("act_sudden", 3, (many, sudden, events), _done),
        Kind("act_sudden_place", 3, (many, sudden_rich, past + bare[:1], places), _done),
        Kind("act_person", 3, (many, met, timed), _done),
        Kind("act_pair", 3, (pairs, simple, timed), _pair_done),
        Kind(
            "benefit", 3, (many, [v for v in simple if v[0] in c.BENEFACTIVE], one, timed), _benefit
        ),
        Kind("animal_act", 2, (p.animal_meals(), timed), _animal_done),
        Kind("animal_does", 2, (animal, beasts, timed, both), _intransitive),
        Kind("does", 4, (many, intr, timed, both), _intransitive),
        Kind("does_manner", 3, (many, intr_manner, timed + bare, both), _intransitive),
        Kind("does_with", 3, (many, [x for x in intr if x[0] != "sleep"], timed, one), _with),
        Kind("goes", 3, (many, ways, timed, both), _motion),
        Kind("goes_with", 3, (many, ways, timed + bare, one), _motion_with),
        Kind("give", 4, (many, gifts, one, timed + bare), _give),
        Kind("give_described", 3, (one, gifts_rich, one, timed), _give),
        Kind("stative", 1, (many, p.loves(), bare[1:]), _done),
        Kind(
            "is",
            4,
            (_predications(), ["pres", "past"], [("very", False), ("very", True), ("too", False)]),
            _copula,
        ),
        Kind("is_more", 3, (_comparisons(), ["pres", "past"]), _compare),
        Kind("exist", 4, (p.existing(), p.locations(), ["pres", "past"]), _exist),
        Kind("ask", 5, (addressed, [v for v in _affirmed(mobile)], asked, places), _ask),
        Kind("ask_who", 3, (_affirmed(rich) + _affirmed(met), asked), _ask_who),
        Kind(
            "ask_what",
            2,
            (
                described + many,
                ["read", "write", "buy", "eat", "drink", "draw", "look_for", "see", "find"],
                places,
                asked,
            ),
            _ask_what,
        ),
        Kind("ask_where", 2, (many, _affirmed(rich + sudden_rich), asked), _ask_where),
        Kind("command", 3, (_affirmed(rich), ["", *c.TIMES["fut"].split()]), _imperative),
        Kind(
            "modal", 5, (addressed[2:] + p.pronouns(), modals, _affirmed(rich), modal_times), _modal
        ),
        Kind("because", 4, (clause, clause), _joined("because")),
        Kind(
            "when",
            3,
            ([(v, g) for v in ("come", "return") for g in goals], one, one, simple + sudden + met),
            _when,
        ),
        Kind("but", 3, (clause, clause), _joined("but")),
        Kind("and", 2, (short, short), _joined("and")),
        Kind("that", 4, (many, c.CLAUSAL, [False], clause), _said),
        Kind("who_did", 3, (heads, relatives, mains), _with_relative),
        Kind("who_does", 2, (heads, relatives_now, mains_place), _with_relative),
        Kind(
            "thing_done",
            3,
            (
                [
                    (n, a)
                    for n in ("book cake car house picture dress").split()
                    for a in ("old", "beautiful", "interesting", "expensive")
                    if a in p.adjectives_of(n)
                ],
                _Products(
                    [*one, *p.pronouns()],
                    [(v, NP("book"), False) for v in ("buy", "sell", "see", "choose")],
                    [t for t in past if not t[2]],
                    places,
                    build=_done,
                ),
                ["pres", "past"],
                ["very", "too"],
            ),
            _of_relative,
        ),
    ]
