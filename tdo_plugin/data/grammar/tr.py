"""Turkish: verb last, case suffixes, one question particle, participles for subordinate clauses."""

# ruff: noqa: RUF002
from __future__ import annotations

from tdo_plugin.data.grammar import tr_forms as forms
from tdo_plugin.data.grammar import tr_lexicon as lex
from tdo_plugin.data.grammar.concepts import CLASS_OF
from tdo_plugin.data.grammar.lexicon_tables import finish, join
from tdo_plugin.data.grammar.meaning import NP, Clause

_POSSESSORS = {"my": "benim", "your": "senin", "our": "bizim"}
_SPECIFIC = {"the", "this", "my", "your", "our", "none"}
_DEGREES = {"very": "çok", "too": "fazla"}
_QUESTIONS = ("(y)Im", "sIn", "", "(y)Iz", "")


def _adjective(adjective: str, head: str) -> str:
    if adjective == "old" and CLASS_OF.get(head) in ("person", "animal", None):
        return lex.OLD_PERSON
    return lex.ADJECTIVES[adjective]


def _phrase(np: NP, case: str, bare: bool = False) -> str:
    """A noun phrase in a case; ``bare`` omits the indefinite article."""
    if np.is_pronoun:
        return ""
    before = _relative(np) if np.rel else ""
    if np.also:
        return f"{_phrase(NP(np.head, np.det), 'n')} ve {_phrase(np.also, case)}"
    if np.head in lex.NAMES:
        return forms.name(lex.NAMES[np.head], case)
    word, *soft = lex.NOUNS[np.head]
    possessor = np.det if np.det in _POSSESSORS else ""
    counted = np.det in ("num", "many", "some")
    many = np.plural and not counted
    noun = forms.noun(word, soft[0] if soft else word, many, possessor, case)
    determiner, article = "", ""
    if np.det == "a":
        article = "" if bare and not np.adj else "bir"
    elif np.det == "num":
        determiner = lex.NUMBERS[np.count]
    else:
        determiner = {"this": "bu", "many": "birçok", "some": "birkaç"}.get(np.det) or (
            _POSSESSORS.get(np.det, "")
        )
    adjective = _adjective(np.adj, np.head) if np.adj else ""
    return join(before, determiner, adjective, article, noun)


def _stems(verb: str) -> tuple[str, str]:
    entry = lex.VERBS[verb]
    return entry[0], entry[1] if len(entry) > 1 else entry[0]


def _relative(np: NP) -> str:
    rel = np.rel
    assert rel is not None
    stem, soft = _stems(rel.verb)
    if rel.subj is None:
        return join(_middle(rel), forms.participle(stem, soft, rel.neg))
    return join(
        _phrase(rel.subj, "gen"),
        _middle(rel),
        forms.factive(stem, soft, rel.tense, rel.subj.person, rel.neg, ""),
    )


def _object(c: Clause) -> str:
    assert c.obj is not None
    entry = lex.VERBS[c.verb]
    if len(entry) > 2:
        return _phrase(c.obj, entry[2])
    specific = c.obj.det in _SPECIFIC
    return _phrase(c.obj, "acc" if specific else "n", bare=c.neg)


def _middle(c: Clause, time: bool = True) -> str:
    """Everything between the subject and the verb; specific phrases come first."""
    obj = _object(c) if c.obj else ""
    early = bool(c.obj and c.obj.det in _SPECIFIC)
    return join(
        lex.TIMES.get(c.time, "") if time else "",
        _phrase(c.companion, "com") if c.companion else "",
        _phrase(c.benefit, "n") + " için" if c.benefit else "",
        lex.PLACES[c.place][0] if c.place else "",
        obj if early else "",
        _phrase(c.to, "dat") if c.to else "",
        lex.MANNERS.get(c.manner, ""),
        lex.PLACES[c.goal][1] if c.goal else "",
        "" if early else obj,
    )


def _person(c: Clause) -> int:
    """A plural noun takes a singular verb; only the pronoun *they* takes a plural one."""
    if c.subj is None or (c.subj.person == 4 and not c.subj.is_pronoun):
        return 2
    return c.subj.person


def _verb(c: Clause) -> str:
    stem, soft = _stems(c.verb)
    person = _person(c)
    if c.modal == "can":
        return forms.able(stem, soft, person, c.neg)
    if c.modal == "must":
        return forms.personal(
            forms.attach(stem, "mAlI"), ("(y)Im", "sIn", "", "(y)Iz", "lAr")[person]
        )
    if c.modal == "want":
        return (
            forms.attach(stem, "mAk")
            + " "
            + forms.personal(*forms.finite("iste", "iste", "pres", person, c.neg))
        )
    base, ending = forms.finite(stem, soft, c.tense, person, c.neg)
    if c.mood != "yesno":
        return forms.personal(base, ending)
    if person == 4 or c.tense == "past":
        return _asked(forms.personal(base, ending))
    return forms.attach(_asked(base), _QUESTIONS[person])


def _asked(word: str) -> str:
    """Add the question particle, a separate word that harmonises with the word before it."""
    return f"{word} " + forms.attach(word, "mI")[len(word) :]


def _copula(c: Clause) -> str:
    assert c.subj is not None
    word = _adjective(c.pred, c.subj.head)
    degree = f"{_ablative(c.than)} daha" if c.than else _DEGREES[c.degree]
    phrase = f"{degree} {word}"
    if c.neg:
        return phrase + (" değildi" if c.tense == "past" else " değil")
    return forms.attach(phrase, "(y)DI") if c.tense == "past" else phrase


def _ablative(np: NP) -> str:
    return _phrase(np, "loc") + "n"


def _existence(c: Clause) -> str:
    assert c.subj is not None and c.loc is not None
    where = f"{_phrase(c.loc.ground, 'gen')} {lex.RELATIONS[c.loc.relation]}"
    predicate = "yok" if c.neg else "var"
    past = c.tense == "past"
    if c.mood == "yesno":
        predicate = _asked(predicate)
        predicate = forms.attach(predicate, "(y)DI") if past else predicate
    elif past:
        predicate = forms.attach(predicate, "DI")
    return join(where, _phrase(c.subj, "n", bare=c.neg), predicate)


def _clause(c: Clause, content: str = "") -> str:
    """A main clause; ``content`` is what is said or thought, before the verb."""
    if c.verb == "exist":
        return _existence(c)
    assert c.subj is not None
    front = lex.TIMES[c.time] if c.front else ""
    end = _copula(c) if c.verb == "be" else _verb(c)
    subject = _phrase(c.subj, "n")
    return join(front, subject, _middle(c, not c.front), content, end)


def _nominal(c: Clause, case: str) -> str:
    """A clause as a noun: *Anna'nın kitap okuduğunu*."""
    assert c.subj is not None
    stem, soft = _stems(c.verb)
    subject_case = "gen" if case == "acc" else "n"
    return join(
        _phrase(c.subj, subject_case),
        _middle(c),
        forms.factive(stem, soft, c.tense, _person(c), c.neg, case),
    )


def _question(c: Clause) -> str:
    if c.mood == "yesno":
        return _clause(c)
    if c.mood == "what":
        assert c.subj is not None
        return join(_phrase(c.subj, "n"), _middle(c), "ne", _verb(c))
    word = "kim" if c.mood == "who" else "nerede"
    subject = _phrase(c.subj, "n") if c.subj else ""
    if c.obj is not None and c.obj.det not in _SPECIFIC:
        time = lex.TIMES.get(c.time, "")
        return join(subject, time, word, _middle(c, False), _verb(c))
    return join(subject, _middle(c), word, _verb(c))


def _capital(sentence: str) -> str:
    return ("İ" + sentence[1:]) if sentence.startswith("i") else sentence


def linearize(c: Clause) -> str:
    """The Turkish sentence of a clause."""
    if c.mood == "imp":
        return finish(join("lütfen", _middle(c), lex.VERBS[c.verb][0]))
    if c.mood != "decl":
        return finish(_capital(_question(c)), "?")
    if not c.sub:
        return finish(_capital(_clause(c)))
    if c.link == "that":
        return finish(_capital(_clause(c, _nominal(c.sub, "acc"))))
    if c.link == "when":
        return finish(_capital(f"{_nominal(c.sub, 'loc')}, {_clause(c)}"))
    joint = {"because": ", çünkü", "and": " ve", "but": ", ama"}[c.link]
    return finish(_capital(f"{_clause(c)}{joint} {_clause(c.sub)}"))
