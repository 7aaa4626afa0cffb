"""Russian: six cases, animacy, aspect, no articles, no present copula, government by numerals."""

# ruff: noqa: RUF001
from __future__ import annotations

from tdo_plugin.data.grammar import ru_lexicon as lex
from tdo_plugin.data.grammar.lexicon_tables import finish, join
from tdo_plugin.data.grammar.meaning import NP, Clause
from tdo_plugin.data.grammar.ru_forms import adjective, noun_singular

_PRONOUNS = {"I": "я", "you": "ты", "we": "мы", "they": "они"}
_POSSESSIVES = {"my": "мой", "your": "твой", "our": "наш"}
_MODALS = {
    "can": ("могу", "можешь", "может", "можем", "могут"),
    "want": ("хочу", "хочешь", "хочет", "хотим", "хотят"),
}
_MUST = {"m": "должен", "f": "должна", "n": "должно", "p": "должны"}
_WILL = ("буду", "будешь", "будет", "будем", "будут")
_WAS = {"m": "был", "f": "была", "n": "было", "p": "были"}
_DEGREES = {"very": "очень", "too": "слишком"}
_WITHOUT_RESULT = {
    "look_for", "wait_for", "sleep", "work", "run", "play", "sing", "dance", "swim", "laugh", "cry",
}  # fmt: skip
_PERFECTIVE_DENIED = {"find", "lose", "forget", "come", "return"}


def _entry(head: str) -> list[str]:
    return lex.NAMES[head] if head in lex.NAMES else lex.NOUNS[head]


def _animate(head: str) -> bool:
    return _entry(head)[1].endswith("+")


def gender(np: NP) -> str:
    """``m f n`` or ``p`` for the plural; pronouns are masculine by convention."""
    if np.person > 2:
        return "p"
    if np.is_pronoun or np.head in ("who", "man"):
        return "m"
    return _entry(np.head)[1][0]


def _determiner(det: str, kind: str, case: str, animate: bool) -> str:
    if det == "this":
        return adjective("этот", kind, case, animate)
    return adjective(_POSSESSIVES[det], kind, case, animate) if det in _POSSESSIVES else ""


def _counted(np: NP, case: str) -> str:
    """Numerals and quantities; only the nominative and the accusative are needed."""
    forms = _entry(np.head)
    animate = _animate(np.head)
    kind = _entry(np.head)[1][0]
    small = np.det == "num" and np.count < 5
    if small and case == "a" and animate:
        number = {2: "двух", 3: "трёх", 4: "четырёх"}[np.count]
        return join(number, _adjective(np, "p", "g", animate), forms[3])
    if small:
        number = (
            "две" if np.count == 2 and kind == "f" and np.head != "man" else (lex.NUMBERS[np.count])
        )
        plain = "n" if kind == "f" and np.head != "man" else "g"
        return join(number, _adjective(np, "p", plain, False), noun_singular(np.head, "g"))
    number = {"many": "много", "some": "несколько"}.get(np.det) or lex.NUMBERS[np.count]
    return join(number, _adjective(np, "p", "g", animate), forms[3])


def _adjective(np: NP, kind: str, case: str, animate: bool) -> str:
    return adjective(lex.ADJECTIVES[np.adj][0], kind, case, animate) if np.adj else ""


def _phrase(np: NP, case: str) -> str:
    """A noun phrase in a case: n, g, d, a, i, p."""
    if np.is_pronoun:
        text = _PRONOUNS[np.head]
    elif np.head in lex.NAMES:
        text = noun_singular(np.head, case)
    elif np.det in ("num", "many", "some"):
        text = _counted(np, case)
    else:
        animate, kind = _animate(np.head), gender(np)
        forms = _entry(np.head)
        if np.plural:
            noun = forms[3] if case == "a" and animate else forms[2]
        else:
            noun = noun_singular(np.head, case)
        text = join(
            _determiner(np.det, kind, case, animate), _adjective(np, kind, case, animate), noun
        )
    if np.also:
        text += " и " + _phrase(np.also, case)
    if np.rel:
        text += f", {_relative(np)},"
    return text


def _relative(np: NP) -> str:
    rel = np.rel
    assert rel is not None
    which = adjective("который", gender(np), "n" if rel.subj is None else "a", _animate(np.head))
    if rel.subj is None:
        head = NP(np.head, np.det, np.plural)
        return join(which, _predication(rel, head))
    return join(which, _phrase(rel.subj, "n"), _predication(rel, rel.subj))


def _person(forms: str, person: int, third: str = "", we: str = "") -> str:
    """Present or future from the forms of I, you, they."""
    first, second, they = forms.split()
    if person in (0, 1, 4):
        return (first, second, "", "", they)[person]
    reflexive = second.endswith("ся")
    stem = second.removesuffix("ся").removesuffix("шь")
    if person == 2:
        return third or stem + ("тся" if reflexive else "т")
    return we or stem + ("мся" if reflexive else "м")


def _past(forms: str, kind: str) -> str:
    he, _, she = forms.partition(" ")
    if kind == "m":
        return he
    she = she or he + "а"
    if kind == "f":
        return she
    reflexive = she.endswith("сь")
    stem = she.removesuffix("сь")[:-1]
    return stem + {"n": "о", "p": "и"}[kind] + ("сь" if reflexive else "")


def _verb(c: Clause, subj: NP) -> str:
    """The verb group: imperfective for ongoing, habitual or negated events."""
    person, kind = subj.person, gender(subj)
    imperfective, present, past, perfective, future, perfective_past, *_ = lex.VERBS[c.verb]
    if c.modal == "must":
        return f"{_MUST[kind]} {perfective}"
    if c.modal:
        unwanted = c.modal == "want" and c.neg
        return f"{_MODALS[c.modal][person]} {imperfective if unwanted else perfective}"
    if c.tense == "past":
        denied = c.neg and c.verb not in _PERFECTIVE_DENIED
        incomplete = denied or c.verb in _WITHOUT_RESULT
        return _past(past if incomplete else perfective_past, kind)
    if c.tense == "fut":
        if c.verb in _WITHOUT_RESULT:
            return f"{_WILL[person]} {imperfective}"
        return _person(future, person, lex.THIRD.get(c.verb, ""), lex.WE.get(c.verb, ""))
    if c.tense == "pres" and c.verb in lex.GOING:
        present = lex.GOING[c.verb]
    if c.verb == "eat":
        return _person(present, person, *lex.EATS)
    return _person(present, person)


def _object(c: Clause) -> str:
    assert c.obj is not None
    entry = lex.VERBS[c.verb]
    return _phrase(c.obj, "d" if len(entry) > 6 else "a")


def _with(np: NP) -> str:
    text = _phrase(np, "i")
    return ("со " if text.startswith(("ст", "св", "мн")) else "с ") + text


def _complements(c: Clause) -> str:
    return join(
        lex.MANNERS.get(c.manner, "") if c.neg else "",
        _phrase(c.to, "d") if c.to else "",
        _object(c) if c.obj else "",
        "для " + _phrase(c.benefit, "g") if c.benefit else "",
        lex.PLACES[c.goal][1] if c.goal else "",
        _with(c.companion) if c.companion else "",
        lex.PLACES[c.place][0] if c.place else "",
    )


def _predication(c: Clause, subj: NP, time: bool = True) -> str:
    when = lex.TIMES.get(c.time, "") if time else ""
    no = "не" if c.neg else ""
    if c.verb == "be":
        return join(when, _copula(c, subj, no))
    manner = "" if c.neg else lex.MANNERS.get(c.manner, "")
    return join(when, manner, no, _verb(c, subj), _complements(c))


def _copula(c: Clause, subj: NP, no: str) -> str:
    kind = gender(subj)
    past = c.tense == "past"
    if c.than:
        comparative = lex.ADJECTIVES[c.pred][1]
        return join(no, _WAS[kind] if past else "", f"{comparative}, чем {_phrase(c.than, 'n')}")
    word = adjective(lex.ADJECTIVES[c.pred][0], kind, "i" if past else "n", False)
    return join(no, _WAS[kind] if past else "", _DEGREES[c.degree], word)


def _existence(c: Clause) -> str:
    assert c.subj is not None and c.loc is not None
    preposition, case = lex.RELATIONS[c.loc.relation]
    where = f"{preposition} {_phrase(c.loc.ground, case)}"
    if case == "i" and preposition.endswith(" с"):
        where = "рядом " + _with(c.loc.ground)
    past = c.tense == "past"
    if c.neg:
        return join(where, "не было" if past else "нет", _phrase(c.subj, "g"))
    kind = "n" if c.subj.det == "many" or c.subj.count > 4 else gender(c.subj)
    return join(where, _WAS[kind] if past else "есть", _phrase(c.subj, "n"))


def _clause(c: Clause) -> str:
    if c.verb == "exist":
        return _existence(c)
    assert c.subj is not None
    front = lex.TIMES[c.time] if c.front else ""
    return join(front, _phrase(c.subj, "n"), _predication(c, c.subj, time=not c.front))


def _question(c: Clause) -> str:
    if c.mood == "yesno":
        return _clause(c)
    if c.mood == "who":
        return "кто " + _predication(c, NP("who", "none"))
    assert c.subj is not None
    word = "где" if c.mood == "where" else "что"
    return join(word, _phrase(c.subj, "n"), _predication(c, c.subj))


def linearize(c: Clause) -> str:
    """The Russian sentence of a clause."""
    if c.mood == "imp":
        time = lex.TIMES.get(c.time, "")
        return finish(join("пожалуйста,", time, lex.IMPERATIVES[c.verb], _complements(c)))
    if c.mood != "decl":
        return finish(_question(c), "?")
    text = _clause(c)
    if c.sub:
        inner = _clause(c.sub)
        if c.link == "when":
            return finish(f"когда {inner}, {text}")
        joint = {"because": ", потому что", "that": ", что", "and": ", и", "but": ", но"}
        text = f"{text}{joint[c.link]} {inner}"
    return finish(text)
