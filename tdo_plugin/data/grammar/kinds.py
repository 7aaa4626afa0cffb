"""The kinds of sentence: each is a product of lists and a function that builds a clause."""

# ruff: noqa: SIM905
from __future__ import annotations

from tdo_plugin.data.grammar import clauses as build
from tdo_plugin.data.grammar import concepts as c
from tdo_plugin.data.grammar import phrases as p
from tdo_plugin.data.grammar.clauses import Kind, Products, Time
from tdo_plugin.data.grammar.meaning import NP


def _affirmed(pairs: list[p.VerbObject]) -> list[p.VerbObject]:
    return [pair for pair in pairs if not pair[2]]


def _brief(pairs: list[p.VerbObject]) -> list[p.VerbObject]:
    """Without objects that are long in some language, so that two clauses stay within 25 words."""
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
    comparisons = []
    for label, nouns in (("person", people), ("thing", things)):
        for left in nouns:
            for right in nouns:
                for adj in c.COMPARABLE[label].split():
                    for det in ("this", "our" if left in c.KIN or label == "thing" else "the"):
                        subj, than = NP(left, det), NP(right, "my" if right in c.KIN else "the")
                        if left != right and not (
                            label == "person" and adj == "young" and "grandmother" in (left, right)
                        ):
                            comparisons.append((subj, than, adj))
    return comparisons


def _predications() -> list[tuple[NP, str]]:
    predications = []
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
                predications.append((subject, pred))
    for noun in [*c.CLOTHES, *c.MACHINES, *c.OPENABLE, *c.THINGS[:4], "table", "chair", "book"]:
        fitting = p.adjectives_of(noun)
        for adj in [a for a in fitting if a in ("red", "blue", "green", "white", "black")]:
            for pred in c.PREDICATES["thing"].split():
                if pred in fitting:
                    dets = ("the", "this", "my", "our")
                    predications += [(NP(noun, det, adj=adj), pred) for det in dets]
    return predications


class _Lists:
    """Lists that several kinds use."""

    def __init__(self) -> None:
        self.one, self.many, self.described = p.persons_one(), p.persons(), p.persons_described()
        self.addressed = [NP("you", "none"), NP("they", "none"), *self.one]
        self.simple = p.things_done(c.TRANSITIVE, False) + p.masses(c.MASS_OBJECTS, False)
        self.rich = p.things_done(c.TRANSITIVE, True) + p.masses(c.MASS_OBJECTS, True)
        self.sudden = p.things_done(c.PUNCTUAL, False)
        self.sudden_rich = p.things_done(c.PUNCTUAL, True)
        self.met = p.persons_met()
        self.mobile = [v for v in self.rich if v[0] in c.EVERYWHERE_VERBS]
        self.mobile_simple = [v for v in self.simple + self.met if v[0] in c.EVERYWHERE_VERBS]
        self.timed, self.bare = p.times("past", "pres", "fut", "hab"), p.bare_times()
        self.past = p.times("past")
        self.unfronted = [t for t in p.times("past", "fut", "hab") if not t[2]]
        self.goals = [*c.PLACES, "lake", "sea"]
        self.both = [False, True]


def _acts(x: _Lists) -> list[Kind]:
    """Somebody does something to something."""
    careful = [v for v in _affirmed(x.rich) if v[0] in c.OBJECT_MANNERS]
    steady = [t for t in x.timed if not t[2]]
    people = p.names() + [NP(noun, "the") for noun in c.PERSONS]
    pairs = [(first, second) for first in people for second in x.one if first.head != second.head]
    benefits = [v for v in x.simple if v[0] in c.BENEFACTIVE]
    return [
        Kind("act_time", 5, (x.many, x.simple, x.timed), build.done),
        Kind("act_described", 5, (x.many, x.rich, x.timed + x.bare), build.done),
        Kind(
            "act_described_subject",
            4,
            (x.described, x.simple + x.met, x.timed + x.bare),
            build.done,
        ),
        Kind("act_place", 4, (x.many, x.mobile_simple, x.bare, c.PLACES), build.done),
        Kind("act_full", 4, (x.described, x.mobile, x.timed, c.PLACES), build.done),
        Kind("act_pronoun", 5, (p.pronouns(), x.mobile, x.timed, c.PLACES), build.done),
        Kind("act_manner", 3, (x.many, careful, steady, range(3)), build.done_in_manner),
        Kind("act_sudden", 3, (x.many, x.sudden, p.times("past", "fut")), build.done),
        Kind(
            "act_sudden_place",
            3,
            (x.many, x.sudden_rich, x.past + x.bare[:1], c.PLACES),
            build.done,
        ),
        Kind("act_person", 3, (x.many, x.met, x.timed), build.done),
        Kind("act_pair", 3, (pairs, x.simple, x.timed), build.pair_done),
        Kind("benefit", 3, (x.many, benefits, x.one, x.timed), build.done_for),
        Kind("animal_act", 2, (p.animal_meals(), x.timed), build.animal_done),
    ]


def _movements(x: _Lists) -> list[Kind]:
    """Somebody does something, goes somewhere, or gives something to somebody."""
    grounds = ("garden", "park", "forest", "village")
    beasts = [(v, place, "") for v in c.ANIMAL_INTRANSITIVE for place in grounds]
    plain, careful = _intransitive_places(False), _intransitive_places(True)
    shared = [v for v in plain if v[0] != "sleep"]
    ways = [(v, g) for v in c.MOTION for g in (c.FAR_PLACES if v == "travel" else x.goals)]
    ditransitive = {v: ("a", n) for v, n in c.DITRANSITIVE.items()}
    gifts, gifts_rich = p.things_done(ditransitive, False), p.things_done(ditransitive, True)
    return [
        Kind("animal_does", 2, (p.animals(), beasts, x.timed, x.both), build.intransitive),
        Kind("does", 4, (x.many, plain, x.timed, x.both), build.intransitive),
        Kind("does_manner", 3, (x.many, careful, x.timed + x.bare, x.both), build.intransitive),
        Kind("does_with", 3, (x.many, shared, x.timed, x.one), build.accompanied),
        Kind("goes", 3, (x.many, ways, x.timed, x.both), build.motion),
        Kind("goes_with", 3, (x.many, ways, x.timed + x.bare, x.one), build.motion_with),
        Kind("give", 4, (x.many, gifts, x.one, x.timed + x.bare), build.give),
        Kind("give_described", 3, (x.one, gifts_rich, x.one, x.timed), build.give),
    ]


def _states(x: _Lists) -> list[Kind]:
    """Properties of persons and things, and existence."""
    tenses = ["pres", "past"]
    degrees = [("very", False), ("very", True), ("too", False)]
    return [
        Kind("stative", 1, (x.many, p.loves(), x.bare[1:]), build.done),
        Kind("is", 4, (_predications(), tenses, degrees), build.copula),
        Kind("is_more", 3, (_comparisons(), tenses), build.compare),
        Kind("exist", 4, (p.existing(), p.locations(), tenses), build.exist),
    ]


def _questions_and_wishes(x: _Lists) -> list[Kind]:
    seen = ["read", "write", "buy", "eat", "drink", "draw", "look_for", "see", "find"]
    modals = [("can", False), ("can", True), ("must", False), ("want", False), ("want", True)]
    future = c.TIMES["fut"].split()
    rich, anything = _affirmed(x.rich), _affirmed(x.rich + x.sudden_rich)
    able = x.addressed[2:] + p.pronouns()
    return [
        Kind("ask", 5, (x.addressed, _affirmed(x.mobile), x.unfronted, c.PLACES), build.ask),
        Kind("ask_who", 3, (rich + _affirmed(x.met), x.unfronted), build.ask_who),
        Kind("ask_what", 2, (x.described + x.many, seen, c.PLACES, x.unfronted), build.ask_what),
        Kind("ask_where", 2, (x.many, anything, x.unfronted), build.ask_where),
        Kind("command", 3, (rich, ["", *future]), build.imperative),
        Kind("modal", 5, (able, modals, rich, ["now", *future]), build.with_modal),
    ]


def _compounds(x: _Lists) -> list[Kind]:
    """Two clauses, coordinated or one inside the other."""
    brief, brief_rich = _brief(x.simple + x.met), _brief(_affirmed(x.rich + x.met))
    clause = Products(x.one, brief, _brief_times(x.timed), build=build.done)
    short = Products(x.one, _affirmed(brief), _brief_times(x.unfronted), build=build.done)
    arrivals = [(v, g) for v in ("come", "return") for g in x.goals]
    return [
        Kind("because", 4, (clause, clause), build.joined("because")),
        Kind("when", 3, (arrivals, x.one, x.one, x.simple + x.sudden + x.met), build.when_arrived),
        Kind("but", 3, (clause, clause), build.joined("but")),
        Kind("and", 2, (short, short), build.joined("and")),
        Kind("that", 4, (x.many, c.CLAUSAL, [False], clause), build.said),
        *_relatives(x, brief, brief_rich),
    ]


def _relatives(x: _Lists, brief: list[p.VerbObject], brief_rich: list[p.VerbObject]) -> list[Kind]:
    heads = [(n, d) for n in c.PERSONS if n not in c.KIN for d in ("the", "this")]
    did = Products([None], brief_rich, _brief_times(x.past), build=build.done)
    does = Products([None], _affirmed(x.rich), [("pres", "", False)], build=build.done)
    mains = Products([None], brief, _brief_times(x.timed, fronted=True), build=build.done)
    mains_place = Products([None], x.mobile_simple, x.bare, c.PLACES, build=build.done)
    things = "book cake car house picture dress".split()
    qualities = ("old", "beautiful", "interesting", "expensive")
    described = [(n, a) for n in things for a in qualities if a in p.adjectives_of(n)]
    obtained = Products(
        [*x.one, *p.pronouns()],
        [(v, NP("book"), False) for v in ("buy", "sell", "see", "choose")],
        [t for t in x.past if not t[2]],
        c.PLACES,
        build=build.done,
    )
    return [
        Kind("who_did", 3, (heads, did, mains), build.with_relative),
        Kind("who_does", 2, (heads, does, mains_place), build.with_relative),
        Kind(
            "thing_done",
            3,
            (described, obtained, ["pres", "past"], ["very", "too"]),
            build.of_relative,
        ),
    ]


def make_kinds() -> list[Kind]:
    """All kinds; their order is part of the corpus, their weights sum to a block's length."""
    x = _Lists()
    return [*_acts(x), *_movements(x), *_states(x), *_questions_and_wishes(x), *_compounds(x)]
