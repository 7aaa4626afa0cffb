"""Spanish: agreement, personal *a*, pronouns left out, contractions, inverted question marks."""

from __future__ import annotations

import re

from tdo_plugin.data.grammar import es_lexicon as lex
from tdo_plugin.data.grammar.concepts import CLASS_OF
from tdo_plugin.data.grammar.lexicon_tables import finish, join
from tdo_plugin.data.grammar.meaning import NP, Clause

_CONTRACTION = re.compile(r"\b(a|de) el ")
_SER = ("soy", "eres", "es", "somos", "son")
_ESTAR = ("estoy", "estás", "está", "estamos", "están")
_ERA = ("era", "eras", "era", "éramos", "eran")
_ESTABA = ("estaba", "estabas", "estaba", "estábamos", "estaban")
_STATES = {"sad", "happy", "hungry"}
_FUTURE = ("é", "ás", "á", "emos", "án")
_MODALS = {
    "can": ("puedo", "puedes", "puede", "podemos", "pueden"),
    "must": ("debo", "debes", "debe", "debemos", "deben"),
    "want": ("quiero", "quieres", "quiere", "queremos", "quieren"),
}
_REGULAR = {
    "ar": (("o", "as", "a", "amos", "an"), ("é", "aste", "ó", "amos", "aron")),
    "er": (("o", "es", "e", "emos", "en"), ("í", "iste", "ió", "imos", "ieron")),
    "ir": (("o", "es", "e", "imos", "en"), ("í", "iste", "ió", "imos", "ieron")),
}
_DETERMINERS = {
    # masculine | feminine | masculine plural | feminine plural
    "the": ("el", "la", "los", "las"),
    "a": ("un", "una", "unos", "unas"),
    "this": ("este", "esta", "estos", "estas"),
    "my": ("mi", "mi", "mis", "mis"),
    "your": ("tu", "tu", "tus", "tus"),
    "our": ("nuestro", "nuestra", "nuestros", "nuestras"),
    "many": ("", "", "muchos", "muchas"),
    "some": ("", "", "algunos", "algunas"),
    "no": ("ningún", "ninguna", "", ""),
}
_DEGREES = {"very": "muy", "too": "demasiado"}
_IMPERATIVES = {"bring": "trae"}


def _feminine(np: NP) -> bool:
    """For single nouns only: other phrases never take an adjective."""
    return lex.NOUNS[np.head][1] == "f"


def _agree(adjective: str, feminine: bool, plural: bool) -> str:
    word = lex.ADJECTIVES[adjective]
    if feminine and word.endswith("o"):
        word = word[:-1] + "a"
    return lex.PLURALS.get(word, word + "s") if plural else word


def _noun(np: NP) -> str:
    entry = lex.NOUNS[np.head]
    if not np.plural:
        return entry[0]
    if len(entry) > 2:
        return entry[2]
    return entry[0] + ("s" if entry[0][-1] in "aeiouéá" else "es")


def _phrase(np: NP, negated: bool = False) -> str:
    """A noun phrase; ``negated`` turns the indefinite article into ``ningún``."""
    if np.head in lex.NAMES:
        text = lex.NAMES[np.head]
    elif np.is_pronoun:
        text = ""
    else:
        female = _feminine(np)
        if np.det == "num":
            word = lex.NUMBERS[np.count]
        elif np.det == "mass":
            word = ""
        else:
            det = "no" if negated and np.det == "a" else np.det
            word = _DETERMINERS[det][2 * np.plural + female]
        adjective = _agree(np.adj, female, np.plural) if np.adj else ""
        text = join(word, _noun(np), adjective)
    if np.also:
        text += " y " + _phrase(np.also)
    if np.rel:
        text += " que " + join(
            _phrase(np.rel.subj) if np.rel.subj else "",
            _predication(np.rel, np.rel.subj or NP(np.head)),
        )
    return text


def _personal(np: NP, negated: bool) -> str:
    """A direct object, with *a* before persons."""
    person = np.head in lex.NAMES or CLASS_OF.get(np.head) == "person"
    return join("a" if person else "", _phrase(np, negated))


def _regular(verb: str, group: int, person: int) -> str:
    infinitive = lex.VERBS[verb][0]
    return infinitive[:-2] + _REGULAR[infinitive[-2:]][group][person]


def _verb(c: Clause, person: int) -> str:
    if c.verb == "be":
        state = c.pred in _STATES
        past, present = (_ESTABA, _ESTAR) if state else (_ERA, _SER)
        return (past if c.tense == "past" else present)[person]
    entry = lex.VERBS[c.verb]
    if c.modal:
        return f"{_MODALS[c.modal][person]} {entry[0]}"
    if c.tense == "fut":
        return (entry[11] if len(entry) > 1 else entry[0]) + _FUTURE[person]
    group = 1 if c.tense == "past" else 0
    if len(entry) == 1:
        return _regular(c.verb, group, person)
    return entry[1 + 5 * group + person]


def _complements(c: Clause, time: bool = True) -> str:
    return join(
        lex.MANNERS.get(c.manner, ""),
        _personal(c.obj, c.neg) if c.obj else "",
        "a " + _phrase(c.to) if c.to else "",
        "para " + _phrase(c.benefit) if c.benefit else "",
        lex.PLACES[c.goal][1] if c.goal else "",
        "con " + _phrase(c.companion) if c.companion else "",
        lex.PLACES[c.place][0] if c.place else "",
        lex.TIMES.get(c.time, "") if time else "",
    )


def _predication(c: Clause, subj: NP, time: bool = True) -> str:
    return join(
        "no" if c.neg else "", _verb(c, subj.person), _attribute(c, subj), _complements(c, time)
    )


def _attribute(c: Clause, subj: NP) -> str:
    if not c.pred:
        return ""
    word = _agree(c.pred, _feminine(subj), subj.person > 2)
    return f"más {word} que {_phrase(c.than)}" if c.than else f"{_DEGREES[c.degree]} {word}"


def _clause(c: Clause) -> str:
    if c.verb == "exist":
        return _existence(c)
    assert c.subj is not None
    return join(
        lex.TIMES[c.time] if c.front else "",
        _phrase(c.subj),
        _predication(c, c.subj, time=not c.front),
    )


def _existence(c: Clause) -> str:
    assert c.subj is not None and c.loc is not None
    has = "había" if c.tense == "past" else "hay"
    where = f"{lex.RELATIONS[c.loc.relation]} {_phrase(c.loc.ground)}"
    return join("no" if c.neg else "", has, _phrase(c.subj, c.neg), where)


def _imperative(c: Clause) -> str:
    command = _IMPERATIVES.get(c.verb) or _verb(Clause(c.verb), 2)
    return f"{join(command, _complements(c))}, por favor"


def _question(c: Clause) -> str:
    if c.verb == "exist":
        return _existence(c)
    word = {"who": "quién", "what": "qué", "where": "dónde", "yesno": ""}[c.mood]
    person = c.subj.person if c.subj else 2
    return join(word, _verb(c, person), _phrase(c.subj) if c.subj else "", _complements(c))


def linearize(c: Clause) -> str:
    """The Spanish sentence of a clause."""
    if c.mood not in ("decl", "imp"):
        return "¿" + finish(_CONTRACTION.sub(r"\1l ", _question(c)), "?")
    text = _imperative(c) if c.mood == "imp" else _clause(c)
    if c.sub:
        inner = _clause(c.sub)
        if c.link == "when":
            text = f"cuando {inner}, {text}"
        else:
            joint = {"because": " porque", "that": " que", "and": " y", "but": ", pero"}[c.link]
            text = f"{text}{joint} {inner}"
    return finish(_CONTRACTION.sub(r"\1l ", text))
