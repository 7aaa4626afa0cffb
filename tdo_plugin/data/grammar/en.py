"""English: SVO, do-support, progressive for ongoing actions, articles."""

from __future__ import annotations

from tdo_plugin.data.grammar import concepts
from tdo_plugin.data.grammar import en_lexicon as lex
from tdo_plugin.data.grammar.lexicon_tables import finish, join
from tdo_plugin.data.grammar.meaning import NP, Clause

_STATIVE = {*concepts.STATIVE, *concepts.CLAUSAL}
_OBLIQUE = {"I": "me", "we": "us", "they": "them", "you": "you"}
_BE = ("am", "are", "is", "are", "are")
_WAS = ("was", "were", "was", "were", "were")


def _determiner(np: NP) -> str:
    if np.det == "num":
        return lex.NUMBERS[np.count]
    if np.det == "this":
        return "these" if np.plural else "this"
    return {"mass": "", "none": ""}.get(np.det, np.det)


def _phrase(np: NP, oblique: bool = False) -> str:
    """A noun phrase; ``oblique`` for pronouns that are not subjects."""
    if np.is_pronoun:
        text = _OBLIQUE[np.head] if oblique else np.head
    elif np.head in lex.NAMES:
        text = lex.NAMES[np.head]
    else:
        words = join(lex.ADJECTIVES.get(np.adj, ""), lex.NOUNS[np.head][np.plural])
        determiner = _determiner(np)
        if determiner == "a" and words[0] in "aeiou":
            determiner = "an"
        text = join(determiner, words)
    if np.also:
        text += " and " + _phrase(np.also)
    if np.rel:
        text += " " + _relative(np.rel)
    return text


def _relative(rel: Clause) -> str:
    if rel.subj is None:
        return join("who", *_verb(rel, 2), _after(rel))
    return join("that", _phrase(rel.subj), *_verb(rel, rel.subj.person), _after(rel))


def _verb(c: Clause, person: int) -> tuple[str, str]:
    """The finite word, and what follows the subject in a question."""
    base, he, past, ing, *_ = lex.VERBS.get(c.verb, [""] * 5)
    third = person == 2
    no = "not" if c.neg else ""
    if c.verb in ("be", "exist"):
        finite = (_WAS if c.tense == "past" else _BE)[person]
        return finite, no
    if c.modal == "want":
        if c.neg:
            return ("does" if third else "do"), f"not want to {base}"
        return ("wants" if third else "want"), f"to {base}"
    if c.modal:
        return ("cannot" if c.neg else c.modal), base
    if c.tense == "fut":
        return "will", join(no, base)
    if c.tense == "pres" and c.verb not in _STATIVE:
        return _BE[person], join(no, ing)
    if c.neg or c.mood in ("yesno", "what", "where"):
        do = "did" if c.tense == "past" else "does" if third else "do"
        return do, join(no, base)
    return (past if c.tense == "past" else he if third else base), ""


def _after(c: Clause, time: bool = True) -> str:
    """Everything after the verb."""
    entry = lex.VERBS.get(c.verb, [])
    preposition = entry[4] if entry else ""
    obj = join(preposition, _phrase(c.obj, True)) if c.obj else ""
    if not c.obj and (c.mood == "what" or c.subj):
        obj = preposition
    return join(
        obj,
        "to " + _phrase(c.to, True) if c.to else "",
        "for " + _phrase(c.benefit, True) if c.benefit else "",
        lex.MANNERS.get(c.manner, ""),
        lex.PLACES[c.goal][1] if c.goal else "",
        "with " + _phrase(c.companion, True) if c.companion else "",
        lex.PLACES[c.place][0] if c.place else "",
        lex.TIMES.get(c.time, "") if time else "",
    )


def _predicate(c: Clause) -> str:
    if c.than:
        return f"{lex.COMPARATIVES[c.pred]} than {_phrase(c.than)}"
    return join(c.degree, lex.ADJECTIVES[c.pred]) if c.pred else ""


def _clause(c: Clause) -> str:
    assert c.subj is not None
    if c.verb == "exist":
        return _existence(c)
    finite, rest = _verb(c, c.subj.person)
    body = join(_phrase(c.subj), finite, rest, _predicate(c), _after(c, not c.front))
    return join(lex.TIMES[c.time], body) if c.front else body


def _existence(c: Clause) -> str:
    assert c.subj is not None and c.loc is not None
    finite, _ = _verb(c, c.subj.person)
    where = join(lex.RELATIONS[c.loc.relation], _phrase(c.loc.ground))
    what = _phrase(c.subj)
    if c.mood == "yesno":
        return join(finite, "there", what, where)
    if c.neg:
        what = "no " + what.partition(" ")[2]
    return join("there", finite, what, where)


def linearize(c: Clause) -> str:
    """The English sentence of a clause."""
    if c.mood == "imp":
        return finish(join("please", lex.VERBS[c.verb][0], _after(c)))
    if c.mood == "who":
        return finish(join("who", *_verb(c, 2), _after(c)), "?")
    if c.mood == "yesno" and c.verb == "exist":
        return finish(_existence(c), "?")
    if c.mood in ("yesno", "what", "where"):
        assert c.subj is not None
        finite, rest = _verb(c, c.subj.person)
        word = "" if c.mood == "yesno" else c.mood
        return finish(join(word, finite, _phrase(c.subj), rest, _after(c)), "?")
    text = _clause(c)
    if c.sub:
        inner = _clause(c.sub)
        if c.link == "when":
            return finish(f"when {inner}, {text}")
        text += {"because": " because ", "that": " that ", "and": ", and ", "but": ", but "}[
            c.link
        ] + inner
    return finish(text)
