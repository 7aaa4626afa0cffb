"""Japanese: particles, verb last, counters, clauses before nouns, polite and plain forms."""

from __future__ import annotations

from tdo_plugin.data.grammar import ja_forms as forms
from tdo_plugin.data.grammar import ja_lexicon as lex
from tdo_plugin.data.grammar.concepts import CLASS_OF
from tdo_plugin.data.grammar.meaning import NP, Clause

_PRONOUNS = {"I": "私", "you": "あなた", "we": "私たち", "they": "彼ら"}
_POSSESSORS = {"my": "私の", "your": "あなたの", "our": "私たちの"}
_DEGREES = {"very": "とても", "too": "あまりにも"}
_THINKS = {"say": "と言って", "think": "と思って", "know": "ことを知って", "believe": "と信じて"}


def _old_person(adjective: str, head: str) -> bool:
    return adjective == "old" and CLASS_OF.get(head) in ("person", "animal", None)


def _adjective(np: NP) -> str:
    if not np.adj:
        return ""
    if _old_person(np.adj, np.head):
        return lex.OLD_PERSON[0]
    if np.adj == "good" and CLASS_OF[np.head] not in ("food", "massfood", "drink"):
        return "良い"
    return lex.ADJECTIVES[np.adj][0]


def _determiner(np: NP, counter: str) -> str:
    if np.det == "num":
        return lex.NUMBERS[np.count] + counter + "の"
    if np.det == "some":
        return "数" + counter + "の"
    if np.det == "many":
        return "たくさんの"
    if np.det == "this":
        return "これらの" if np.plural and CLASS_OF[np.head] != "person" else "この"
    return _POSSESSORS.get(np.det, "")


def _phrase(np: NP) -> str:
    if np.is_pronoun:
        return _PRONOUNS[np.head]
    relative = _relative(np.rel) if np.rel else ""
    if np.head in lex.NAMES:
        text = lex.NAMES[np.head]
    else:
        word, counter, *several = lex.NOUNS[np.head]
        if np.plural and several and np.det not in ("num", "many", "some"):
            word = several[0]
        text = relative + _determiner(np, counter) + _adjective(np) + word
    return text + ("と" + _phrase(np.also) if np.also else "")


def _relative(rel: Clause) -> str:
    subject = _phrase(rel.subj) + "が" if rel.subj else ""
    return subject + _middle(rel) + _verb(rel, plain=True)


def _verb(c: Clause, plain: bool) -> str:
    word, group, *_ = lex.VERBS[c.verb]
    if c.modal:
        return _modal(c, word, group)
    if c.verb in ("know_person", "love"):
        form = "ongoing"
    else:
        form = {"past": "past", "pres": "ongoing"}.get(c.tense, "present")
    if c.verb == "know_person" and c.neg:
        form = "present"
    return forms.verb(word, group, form, c.neg, plain)


def _modal(c: Clause, word: str, group: str) -> str:
    masu, nai, _ = forms.stems(word, group)
    if c.modal == "can":
        return word + "ことができ" + ("ません" if c.neg else "ます")
    if c.modal == "must":
        return nai + "なければなりません"
    assert c.subj is not None
    if c.subj.person in (0, 3):
        return masu + ("たくないです" if c.neg else "たいです")
    return masu + "たがって" + ("いません" if c.neg else "います")


def _object(c: Clause) -> str:
    if c.obj is None:
        return ""
    entry = lex.VERBS[c.verb]
    particle = entry[2] if len(entry) > 2 else "を"
    return _phrase(c.obj) + particle


def _middle(c: Clause, time: bool = True) -> str:
    """Everything between the subject and the verb."""
    place = lex.PLACES[c.place] + "で" if c.place else ""
    return "".join(
        (
            lex.TIMES.get(c.time, "") if time else "",
            _phrase(c.companion) + "と" if c.companion else "",
            place,
            _phrase(c.benefit) + "のために" if c.benefit else "",
            _phrase(c.to) + "に" if c.to else "",
            lex.MANNERS.get(c.manner, "") if not c.obj else "",
            _object(c),
            lex.MANNERS.get(c.manner, "") if c.obj else "",
            lex.PLACES[c.goal] + "へ" if c.goal else "",
        )
    )


def _copula(c: Clause) -> str:
    assert c.subj is not None
    word, kind = lex.ADJECTIVES[c.pred]
    if _old_person(c.pred, c.subj.head):
        word, kind = lex.OLD_PERSON[1:]
    end = forms.predicate(word, kind, c.tense == "past", c.neg)
    if c.than:
        return f"{_phrase(c.than)}より{end}"
    return ("あまり" if c.neg else _DEGREES[c.degree]) + end


def _existence(c: Clause) -> str:
    assert c.subj is not None and c.loc is not None
    alive = CLASS_OF[c.subj.head] in ("animal", "person")
    where = f"{_phrase(c.loc.ground)}の{lex.RELATIONS[c.loc.relation]}に"
    stem = "い" if alive else "あり"
    past = c.tense == "past"
    end = ("ませんでした" if past else "ません") if c.neg else ("ました" if past else "ます")
    return (
        where + ("は" if c.neg else "") + _phrase(c.subj) + ("は" if c.neg else "が") + stem + end
    )


def _clause(c: Clause, topic: str = "は", plain: bool = False) -> str:
    """A clause; ``plain`` in the middle of a sentence."""
    if c.verb == "exist":
        return _existence(c)
    assert c.subj is not None
    front = lex.TIMES[c.time] + "、" if c.front else ""
    end = _copula(c) if c.verb == "be" else _verb(c, plain)
    return front + _phrase(c.subj) + topic + _middle(c, not c.front) + end


def _said(c: Clause) -> str:
    assert c.sub is not None and c.subj is not None
    content = _clause(c.sub, topic="が", plain=True)
    return f"{_phrase(c.subj)}は、{content}{_THINKS[c.verb]}います"


def _question(c: Clause) -> str:
    if c.mood == "yesno":
        return _clause(c)
    time = lex.TIMES.get(c.time, "")
    if c.mood == "who":
        return "誰が" + _middle(c) + _verb(c, plain=False)
    assert c.subj is not None
    subject = _phrase(c.subj) + "は" + time
    if c.mood == "where":
        return subject + "どこで" + _middle(c, False) + _verb(c, plain=False)
    return subject + _middle(c, False) + "何を" + _verb(c, plain=False)


def linearize(c: Clause) -> str:
    """The Japanese sentence of a clause, without spaces."""
    if c.mood == "imp":
        word, group, *_ = lex.VERBS[c.verb]
        return _middle(c) + forms.stems(word, group)[2] + "ください。"
    if c.mood != "decl":
        return _question(c) + "か。"
    if not c.sub:
        return _clause(c) + "。"
    if c.link == "that":
        return _said(c) + "。"
    if c.link == "because":
        return f"{_clause(c.sub, 'が', plain=True)}ので、{_clause(c)}。"
    if c.link == "when":
        return f"{_clause(c.sub, 'が', plain=True)}とき、{_clause(c)}。"
    joint = "が、" if c.link == "but" else "。そして、"
    return f"{_clause(c)}{joint}{_clause(c.sub)}。"
