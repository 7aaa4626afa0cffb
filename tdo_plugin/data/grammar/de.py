"""German: verb second, verb last in subordinate clauses, case, three genders, adjective endings."""

from __future__ import annotations

from tdo_plugin.data.grammar import de_lexicon as lex
from tdo_plugin.data.grammar.lexicon_tables import finish, join
from tdo_plugin.data.grammar.meaning import NP, Clause

# endings of der-words by gender and case (n nominative, a accusative, d dative)
_DER = {
    "mn": "er", "ma": "en", "md": "em", "fn": "e", "fa": "e", "fd": "er",
    "nn": "es", "na": "es", "nd": "em", "pn": "e", "pa": "e", "pd": "en",
}  # fmt: skip
_THE = {
    "mn": "der", "ma": "den", "md": "dem", "fn": "die", "fa": "die", "fd": "der",
    "nn": "das", "na": "das", "nd": "dem", "pn": "die", "pa": "die", "pd": "den",
}  # fmt: skip
_EIN = {
    "mn": "", "ma": "en", "md": "em", "fn": "e", "fa": "e", "fd": "er",
    "nn": "", "na": "", "nd": "em", "pn": "e", "pa": "e", "pd": "en",
}  # fmt: skip
_WEAK_E = {"mn", "fn", "fa", "nn", "na"}
_STEMS = {"a": "ein", "no": "kein", "my": "mein", "your": "dein", "our": "unser"}
_PRONOUNS = {"I": "ich", "you": "du", "we": "wir", "they": "sie"}
_HAVE = ("habe", "hast", "hat", "haben", "haben")
_BE = ("bin", "bist", "ist", "sind", "sind")
_WAS = ("war", "warst", "war", "waren", "waren")
_BECOME = ("werde", "wirst", "wird", "werden", "werden")
_MODALS = {
    "can": ("kann", "kannst", "kann", "können", "können"),
    "must": ("muss", "musst", "muss", "müssen", "müssen"),
    "want": ("will", "willst", "will", "wollen", "wollen"),
}
_DEGREES = {"very": "sehr", "too": "zu"}


def _determiner(np: NP, key: str, det: str) -> tuple[str, str]:
    """The determiner, and the ending of an adjective after it."""
    weak = "e" if key in _WEAK_E else "en"
    if det == "the":
        return _THE[key], weak
    if det == "this":
        return "dies" + _DER[key], weak
    if det in _STEMS:
        stem, ending = _STEMS[det], _EIN[key]
        return stem + ending, weak if ending or key[0] == "p" else _DER[key]
    return {"many": "viele", "some": "einige", "mass": ""}.get(det) or (
        lex.NUMBERS[np.count] if det == "num" else ""
    ), _DER[key]


def _phrase(np: NP, case: str, negated: bool = False) -> str:
    """A noun phrase in a case; ``negated`` turns an indefinite article into ``kein``."""
    if np.is_pronoun:
        text = _PRONOUNS[np.head]
    elif np.head in lex.NAMES:
        text = lex.NAMES[np.head]
    else:
        singular, plural, gender = lex.NOUNS[np.head]
        key = ("p" if np.plural else gender[0]) + case
        noun = plural if np.plural else singular
        if gender == "mw" and not np.plural and case != "n":
            noun = plural
        if np.plural and case == "d" and noun[-1] not in "ns":
            noun += "n"
        det = "no" if negated and np.det in ("a", "mass") else np.det
        word, ending = _determiner(np, key, det)
        adjective = lex.ADJECTIVES[np.adj][0] + ending if np.adj else ""
        text = join(word, adjective, noun)
    if np.also:
        text += " und " + _phrase(np.also, case)
    if np.rel:
        text += f", {_relative(np, np.rel)},"
    return text


def _relative(np: NP, rel: Clause) -> str:
    gender = "p" if np.plural else lex.NOUNS[np.head][2][0]
    if rel.subj is None:
        return join(_THE[gender + "n"], _last(rel, 4 if np.plural else 2))
    return join(_THE[gender + "a"], _phrase(rel.subj, "n"), _last(rel, rel.subj.person))


def _present(verb: str, person: int) -> str:
    infinitive, i, you, he, *_ = lex.VERBS[verb]
    return (i, you, he, infinitive, infinitive)[person]


def _verb(c: Clause, person: int) -> tuple[str, str]:
    """The finite verb, and the verb's part at the end of the clause."""
    if c.verb in ("be", "exist"):
        return (_WAS if c.tense == "past" else _BE)[person], ""
    entry = lex.VERBS[c.verb]
    prefix = entry[5]
    if c.modal:
        return _MODALS[c.modal][person], prefix + entry[0]
    if c.tense == "past":
        auxiliary = _BE if entry[4].endswith("*") else _HAVE
        return auxiliary[person], prefix + entry[4].rstrip("*")
    if c.tense == "fut":
        return _BECOME[person], prefix + entry[0]
    return _present(c.verb, person), prefix


def _object(c: Clause) -> str:
    assert c.obj is not None
    government = lex.VERBS[c.verb][6]
    text = _phrase(c.obj, "d" if government == "d" else "a", c.neg)
    return join(government if government != "d" else "", text)


def _middle(c: Clause, time: bool = True) -> str:
    """Everything between the subject and the end of the clause."""
    indefinite = c.obj is not None and c.obj.det in ("a", "mass", "many", "some", "num")
    governed = bool(c.obj and lex.VERBS[c.verb][6] == "auf")
    obj = _object(c) if c.obj else ""
    no = "nicht" if c.neg and not (c.obj and c.obj.det in ("a", "mass")) else ""
    late = indefinite or governed
    place = lex.PLACES[c.place][0] if c.place else ""
    return join(
        lex.TIMES.get(c.time, "") if time else "",
        _phrase(c.to, "d") if c.to else "",
        "" if late else obj,
        "für " + _phrase(c.benefit, "a") if c.benefit else "",
        place if c.manner else "",
        no,
        "mit " + _phrase(c.companion, "d") if c.companion else "",
        "" if c.manner else place,
        obj if late else "",
        lex.MANNERS.get(c.manner, ""),
        lex.PLACES[c.goal][1] if c.goal else "",
        _predicate(c),
    )


def _predicate(c: Clause) -> str:
    if not c.pred:
        return ""
    if c.than:
        return f"{lex.COMPARATIVES[c.pred]} als {_phrase(c.than, 'n')}"
    return join(_DEGREES[c.degree], lex.ADJECTIVES[c.pred][-1])


def _second(c: Clause) -> str:
    """A main clause with the verb in second place."""
    assert c.subj is not None
    if c.verb == "exist":
        return _existence(c)
    finite, end = _verb(c, c.subj.person)
    subject = _phrase(c.subj, "n")
    if c.front:
        return join(lex.TIMES[c.time], finite, subject, _middle(c, False), end)
    return join(subject, finite, _middle(c), end)


def _last(c: Clause, person: int) -> str:
    """The rest of a subordinate clause after its subject: the finite verb comes last."""
    finite, end = _verb(c, person)
    attached = lex.VERBS[c.verb][5] == end and end != ""
    return join(_middle(c), end + finite if attached else join(end, finite))


def _subordinate(conjunction: str, c: Clause) -> str:
    assert c.subj is not None
    return join(conjunction, _phrase(c.subj, "n"), _last(c, c.subj.person))


def _existence(c: Clause) -> str:
    assert c.subj is not None and c.loc is not None
    finite, _ = _verb(c, c.subj.person)
    where = join(lex.RELATIONS[c.loc.relation], _phrase(c.loc.ground, "d"))
    what = _phrase(c.subj, "n", c.neg)
    if c.mood == "yesno":
        return join(finite, where, what)
    return join(where, finite, what)


def _question(c: Clause) -> str:
    word = {"who": "wer", "what": "was", "where": "wo", "yesno": ""}[c.mood]
    if c.verb == "exist":
        return _existence(c)
    if c.mood == "what" and lex.VERBS[c.verb][6] == "auf":
        word = "worauf"
    person = c.subj.person if c.subj else 2
    finite, end = _verb(c, person)
    subject = _phrase(c.subj, "n") if c.subj else ""
    return join(word, finite, subject, _middle(c), end)


def linearize(c: Clause) -> str:
    """The German sentence of a clause."""
    if c.mood == "imp":
        entry = lex.VERBS[c.verb]
        command = lex.IMPERATIVES.get(c.verb) or entry[2].removesuffix("st")
        return finish(join("bitte", command, _middle(c), entry[5]))
    if c.mood != "decl":
        return finish(_question(c), "?")
    if not c.sub:
        return finish(_second(c).rstrip(","))
    if c.link == "when":
        finite, end = _verb(c, c.subj.person if c.subj else 2)
        subject = _phrase(c.subj, "n") if c.subj else ""
        main = join(finite, subject, _middle(c), end)
        return finish(f"{_subordinate('als', c.sub)}, {main}")
    if c.link in ("because", "that"):
        word = {"because": "weil", "that": "dass"}[c.link]
        return finish(f"{_second(c)}, {_subordinate(word, c.sub)}")
    return finish(f"{_second(c)}{ {'and': ' und', 'but': ', aber'}[c.link] } {_second(c.sub)}")
