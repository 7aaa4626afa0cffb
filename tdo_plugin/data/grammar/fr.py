"""French: gender and number agreement, two-part negation, elision, contractions, participles."""

from __future__ import annotations

import re

from tdo_plugin.data.grammar import fr_lexicon as lex
from tdo_plugin.data.grammar.lexicon_tables import finish, join
from tdo_plugin.data.grammar.meaning import NP, Clause

_VOWEL = "aeiouhâéèêîôœAEIOU"
_ELISION = re.compile(rf"\b([Jj]e|[Nn]e|[Qq]ue|[Dd]e) (?=[{_VOWEL}])(?!huit|onze)")
_SI = re.compile(r"\b(à|de) (le|les) ")
_CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
_PRONOUNS = {"I": "je", "you": "tu", "we": "nous", "they": "ils"}
_HAVE = ("ai", "as", "a", "avons", "ont")
_BE = ("suis", "es", "est", "sommes", "sont")
_FUTURE = ("ai", "as", "a", "ons", "ont")
_MODALS = {
    "can": ("peux", "peux", "peut", "pouvons", "peuvent"),
    "must": ("dois", "dois", "doit", "devons", "doivent"),
    "want": ("veux", "veux", "veut", "voulons", "veulent"),
}
_DETERMINERS = {
    # masculine | feminine | before a vowel | plural
    "the": ("le", "la", "l'", "les"),
    "a": ("un", "une", "", "des"),
    "this": ("ce", "cette", "", "ces"),
    "my": ("mon", "ma", "mon", "mes"),
    "your": ("ton", "ta", "ton", "tes"),
    "our": ("notre", "notre", "notre", "nos"),
    "mass": ("du", "de la", "de l'", "des"),
    "some": ("", "", "", "quelques"),
    "many": ("", "", "", "beaucoup de"),
    "no": ("de", "de", "de", "de"),
}
_DEGREES = {"very": "très", "too": "trop"}


def _smooth(text: str) -> str:
    """Elision and contraction where words meet."""
    text = _SI.sub(lambda m: _CONTRACTED[m[1], m[2]] + " ", text)
    return _ELISION.sub(lambda m: m[1][:-1] + "'", text)


def _feminine(np: NP) -> bool:
    if np.also is not None:
        return _feminine(NP(np.head)) and _feminine(np.also)
    if np.head in lex.NOUNS:
        return lex.NOUNS[np.head][1] == "f"
    return np.head in ("Anna", "Emma", "Maria", "Sofia", "Laura", "Nina")


def _agree(adjective: str, feminine: bool, plural: bool) -> str:
    masculine, female, several, *_ = lex.ADJECTIVES[adjective]
    if not plural:
        return female if feminine else masculine
    if not feminine:
        return several
    return female if female == masculine == several else female + "s"


def _words(np: NP) -> str:
    """Noun and adjective."""
    entry = lex.NOUNS[np.head]
    noun = (entry[2] if len(entry) > 2 else _plural(entry[0])) if np.plural else entry[0]
    if not np.adj:
        return noun
    forms = lex.ADJECTIVES[np.adj]
    adjective = _agree(np.adj, entry[1] == "f", np.plural)
    if len(forms) < 4 and np.adj != "tall":
        return f"{noun} {adjective}"
    if entry[1] == "m" and not np.plural and noun[0] in _VOWEL:
        adjective = lex.ADJECTIVES["big" if np.adj == "tall" else np.adj][3]
    return f"{adjective} {noun}"


def _plural(noun: str) -> str:
    return noun + "s"


def _phrase(np: NP, negated: bool = False) -> str:
    """A noun phrase; ``negated`` turns indefinite articles into ``de``."""
    if np.is_pronoun:
        text = _PRONOUNS[np.head]
    elif np.head in lex.NAMES:
        text = lex.NAMES[np.head]
    else:
        words = _words(np)
        if np.det == "num":
            text = f"{lex.NUMBERS[np.count]} {words}"
        else:
            det = "no" if negated and np.det in ("a", "mass") else np.det
            masculine, feminine, vowel, plural = _DETERMINERS[det]
            female = lex.NOUNS[np.head][1] == "f"
            word = plural if np.plural else feminine if female else masculine
            if not np.plural and words[0] in _VOWEL:
                word = vowel or ("cet" if det == "this" and not female else word)
            text = word + words if word.endswith("'") else f"{word} {words}"
    if np.also:
        text += " et " + _phrase(np.also)
    if np.rel:
        text += " " + _relative(np)
    return text


def _relative(np: NP) -> str:
    rel = np.rel
    assert rel is not None
    if rel.subj is None:
        return "qui " + _predication(rel, NP(np.head, np.det, np.plural))
    return "que " + join(_phrase(rel.subj), _predication(rel, rel.subj, before=np))


def _participle(word: str, feminine: bool, plural: bool) -> str:
    return word + ("e" if feminine else "") + ("s" if plural and not word.endswith("s") else "")


def _verb(c: Clause, subj: NP, before: NP | None) -> tuple[str, str]:
    """The finite verb, and the part that follows the second word of a negation."""
    person = subj.person
    if c.verb == "be":
        past = ("étais", "étais", "était", "étions", "étaient")
        return (past if c.tense == "past" else _BE)[person], ""
    entry = lex.VERBS[c.verb]
    if c.modal:
        return _MODALS[c.modal][person], entry[5]
    if c.tense == "past":
        participle = entry[6].rstrip("*")
        if entry[6].endswith("*"):
            return _BE[person], _participle(participle, _feminine(subj), person > 2)
        if before is not None:
            participle = _participle(participle, _feminine(before), before.plural)
        return _HAVE[person], participle
    if c.tense == "fut":
        stem, _, rest = entry[7].partition(" ")
        return stem + _FUTURE[person], rest
    finite, _, rest = entry[person].partition(" ")
    return finite, rest


def _predication(c: Clause, subj: NP, time: bool = True, before: NP | None = None) -> str:
    """The verb and everything after it."""
    finite, rest = _verb(c, subj, before)
    no = ("ne", "pas") if c.neg else ("", "")
    government = lex.VERBS[c.verb][8] if c.verb in lex.VERBS else ""
    return join(
        no[0],
        finite,
        no[1],
        rest,
        lex.MANNERS.get(c.manner, ""),
        join(government, _phrase(c.obj, c.neg)) if c.obj else "",
        "à " + _phrase(c.to) if c.to else "",
        "pour " + _phrase(c.benefit) if c.benefit else "",
        lex.PLACES[c.goal][1] if c.goal else "",
        "avec " + _phrase(c.companion) if c.companion else "",
        lex.PLACES[c.place][0] if c.place else "",
        _attribute(c, subj),
        lex.TIMES.get(c.time, "") if time else "",
    )


def _attribute(c: Clause, subj: NP) -> str:
    if not c.pred:
        return ""
    word = _agree(c.pred, _feminine(subj), subj.person > 2)
    if word == "bon marché" and c.than:
        return f"meilleur marché que {_phrase(c.than)}"
    return f"plus {word} que {_phrase(c.than)}" if c.than else join(_DEGREES[c.degree], word)


def _clause(c: Clause) -> str:
    if c.verb == "exist":
        return _existence(c)
    assert c.subj is not None
    body = join(_phrase(c.subj), _predication(c, c.subj, time=not c.front))
    return f"{lex.TIMES[c.time]}, {body}" if c.front else body


def _existence(c: Clause) -> str:
    assert c.subj is not None and c.loc is not None
    has = "avait" if c.tense == "past" else "a"
    il_y_a = f"il n'y {has} pas" if c.neg else f"il y {has}"
    where = f"{lex.RELATIONS[c.loc.relation]} {_phrase(c.loc.ground)}"
    return join(il_y_a, _phrase(c.subj, c.neg), where)


def _imperative(c: Clause) -> str:
    command = lex.VERBS[c.verb][1]
    if lex.VERBS[c.verb][5].endswith("er") or c.verb == "open":
        command = command.removesuffix("s")
    assert c.obj is not None
    return join(command, _phrase(c.obj), lex.TIMES.get(c.time, "")) + ", s'il te plaît"


def _question(c: Clause) -> str:
    if c.mood == "who":
        return "qui " + _predication(c, NP("who", "none"))
    word = {"yesno": "est-ce que", "what": "qu'est-ce que", "where": "où est-ce que"}[c.mood]
    return f"{word} {_clause(c)}"


def linearize(c: Clause) -> str:
    """The French sentence of a clause."""
    if c.mood == "imp":
        return finish(_smooth(_imperative(c)))
    if c.mood != "decl":
        return finish(_smooth(_question(c)), " ?")
    text = _clause(c)
    if c.sub:
        inner = _clause(c.sub)
        if c.link == "when":
            text = f"quand {inner}, {text}"
        else:
            joint = {"because": " parce que", "that": " que", "and": ", et", "but": ", mais"}
            text = f"{text}{joint[c.link]} {inner}"
    return finish(_smooth(text))
