"""The language-neutral meaning of a sentence: a small immutable tree of concept names."""

from __future__ import annotations

from dataclasses import dataclass

PRONOUNS = {"I": 0, "you": 1, "we": 3, "they": 4}
"""Pronoun to person index (0 I, 1 you, 2 third singular, 3 we, 4 third plural)."""


@dataclass(frozen=True)
class NP:
    """A noun phrase.

    ``head`` is a noun, a name or a pronoun. ``det`` is one of ``the a this my our your many some
    num mass none``; without an explicit determiner, definiteness follows from the role, so that
    languages without articles express the same. ``count`` belongs to ``num``. ``also`` is a second,
    coordinated phrase, ``rel`` a relative clause whose gap is its missing subject or object.
    """

    head: str
    det: str = "the"
    plural: bool = False
    count: int = 0
    adj: str = ""
    rel: Clause | None = None
    also: NP | None = None

    @property
    def person(self) -> int:
        """Agreement index of the phrase: 0 I, 1 you, 2 third singular, 3 we, 4 third plural."""
        if self.also is not None or self.plural:
            return 4
        return PRONOUNS.get(self.head, 2)

    @property
    def is_pronoun(self) -> bool:
        return self.head in PRONOUNS


@dataclass(frozen=True)
class Loc:
    """A location relative to a thing: ``on in under behind front beside`` and a singular phrase."""

    relation: str
    ground: NP


@dataclass(frozen=True)
class Clause:
    """A clause.

    ``tense`` is ``past pres fut hab``; ``mood`` is ``decl yesno who what where imp``; ``modal`` is
    empty or ``can must want``; ``link`` (``because when that and but``) joins the clause to
    ``sub``.
    ``front`` moves the adverb of time to the front. The verb ``be`` has ``pred`` (an adjective),
    and ``than`` for comparisons; the verb ``exist`` states that ``subj`` is at ``loc``.
    """

    verb: str
    subj: NP | None = None
    obj: NP | None = None
    to: NP | None = None
    tense: str = "pres"
    neg: bool = False
    mood: str = "decl"
    modal: str = ""
    time: str = ""
    front: bool = False
    place: str = ""
    loc: Loc | None = None
    goal: str = ""
    manner: str = ""
    companion: NP | None = None
    benefit: NP | None = None
    pred: str = ""
    degree: str = ""
    than: NP | None = None
    link: str = ""
    sub: Clause | None = None

    def repeats_itself(self) -> bool:
        """Whether a person has two roles in this clause or in one inside it."""
        roles = (self.subj, self.obj, self.to, self.companion, self.benefit)
        phrases = [np for np in roles if np is not None]
        heads = [np.head for np in phrases] + [np.also.head for np in phrases if np.also]
        inner = [np.rel for np in phrases if np.rel]
        inner += [self.sub] if self.sub else []
        return len(set(heads)) < len(heads) or any(clause.repeats_itself() for clause in inner)


@dataclass(frozen=True)
class Meaning:
    """One sentence's meaning, with its address: ``rank`` among the meanings of its ``kind``."""

    kind: str
    rank: int
    clause: Clause

    @property
    def address(self) -> tuple[str, int]:
        """Canonical name, the same for every seed; equal if and only if two meanings are."""
        return self.kind, self.rank
