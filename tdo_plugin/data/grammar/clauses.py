"""Functions that build a clause from the elements of a kind's lists."""

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
    """``weight`` is the kind's share of a block of draws; ``size`` its number of meanings."""

    name: str
    weight: int
    parts: tuple[Sequence[Any], ...]
    build: Callable[..., Clause]

    @property
    def size(self) -> int:
        return prod(len(part) for part in self.parts)

    def clause(self, rank: int) -> Clause:
        """Decode ``rank`` in ``range(size)`` by mixed radix: different ranks, different clauses."""
        chosen = []
        for part in self.parts:
            rank, digit = divmod(rank, len(part))
            chosen.append(part[digit])
        return self.build(*chosen)


def done(subj: NP, act: p.VerbObject, when: Time, place: str = "", **more: Any) -> Clause:
    return Clause(
        act[0], subj, act[1], neg=act[2], tense=when[0], time=when[1], front=when[2], place=place,
        **more,
    )  # fmt: skip


def intransitive(subj: NP, verb_place: tuple[str, str, str], when: Time, neg: bool) -> Clause:
    verb, place, manner = verb_place
    return Clause(
        verb, subj, tense=when[0], time=when[1], front=when[2], neg=neg, place=place, manner=manner
    )


def accompanied(subj: NP, verb_place: tuple[str, str, str], when: Time, companion: NP) -> Clause:
    return replace(intransitive(subj, verb_place, when, False), companion=companion)


def motion(subj: NP, way: tuple[str, str], when: Time, neg: bool) -> Clause:
    return Clause(way[0], subj, goal=way[1], tense=when[0], time=when[1], front=when[2], neg=neg)


def motion_with(subj: NP, way: tuple[str, str], when: Time, companion: NP) -> Clause:
    return replace(motion(subj, way, when, False), companion=companion)


def animal_done(meal: tuple[NP, p.VerbObject], when: Time) -> Clause:
    return done(meal[0], meal[1], when)


def give(subj: NP, act: p.VerbObject, to: NP, when: Time) -> Clause:
    return done(subj, act, when, to=to)


def done_for(subj: NP, act: p.VerbObject, benefit: NP, when: Time) -> Clause:
    return done(subj, act, when, benefit=benefit)


def done_in_manner(subj: NP, act: p.VerbObject, when: Time, turn: int) -> Clause:
    manners = c.OBJECT_MANNERS[act[0]].split()
    return done(subj, act, when, manner=manners[turn])


def copula(subj_pred: tuple[NP, str], tense: str, how: tuple[str, bool]) -> Clause:
    subj, pred = subj_pred
    return Clause("be", subj, pred=pred, tense=tense, degree=how[0], neg=how[1])


def compare(pair: tuple[NP, NP, str], tense: str) -> Clause:
    return Clause("be", pair[0], than=pair[1], pred=pair[2], tense=tense)


def exist(what: tuple[NP, bool, str], loc: Loc, tense: str) -> Clause:
    return Clause("exist", what[0], neg=what[1], mood=what[2], loc=loc, tense=tense)


def ask(subj: NP, act: p.VerbObject, when: Time, place: str) -> Clause:
    return replace(done(subj, act, when, place, mood="yesno"), neg=False, front=False)


def ask_who(act: p.VerbObject, when: Time) -> Clause:
    return Clause(act[0], None, act[1], tense=when[0], time=when[1], mood="who")


def ask_what(subj: NP, verb: str, place: str, when: Time) -> Clause:
    return Clause(verb, subj, tense=when[0], time=when[1], place=place, mood="what")


def ask_where(subj: NP, act: p.VerbObject, when: Time) -> Clause:
    return Clause(act[0], subj, act[1], tense=when[0], time=when[1], mood="where")


def imperative(act: p.VerbObject, time: str) -> Clause:
    return Clause(act[0], NP("you", "none"), act[1], tense="fut", time=time, mood="imp")


def with_modal(subj: NP, modal: tuple[str, bool], act: p.VerbObject, time: str) -> Clause:
    return Clause(act[0], subj, act[1], modal=modal[0], neg=modal[1], time=time, front=False)


def joined(link: str) -> Callable[..., Clause]:
    def build(first: Clause, second: Clause) -> Clause:
        return replace(first, link=link, sub=second)

    return build


def when_arrived(goal: tuple[str, str], who: NP, subj: NP, act: p.VerbObject) -> Clause:
    arrival = Clause(goal[0], who, goal=goal[1], tense="past")
    return Clause(act[0], subj, act[1], neg=act[2], tense="past", link="when", sub=arrival)


def said(subj: NP, verb: str, neg: bool, content: Clause) -> Clause:
    return Clause(verb, subj, neg=neg, link="that", sub=content)


def with_relative(head: tuple[str, str], rel: Clause, main: Clause) -> Clause:
    return replace(main, subj=NP(head[0], head[1], rel=rel))


def of_relative(noun_pred: tuple[str, str], rel: Clause, tense: str, degree: str) -> Clause:
    head = NP(noun_pred[0], "the", rel=replace(rel, obj=None))
    return Clause("be", head, pred=noun_pred[1], tense=tense, degree=degree)


def pair_done(pair: tuple[NP, NP], act: p.VerbObject, when: Time) -> Clause:
    return done(replace(pair[0], also=pair[1]), act, when)


class Products(Sequence[Clause]):
    """Clauses made on demand: a sequence as long as a kind, without storing it."""

    def __init__(self, *parts: Sequence[Any], build: Callable[..., Clause]) -> None:
        self._kind = Kind("", 1, parts, build)
        self._size = self._kind.size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, rank: Any) -> Any:
        return self._kind.clause(rank)
