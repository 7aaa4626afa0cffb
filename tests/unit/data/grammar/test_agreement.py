"""Agreement, case and spelling, checked by tables and patterns written apart from the grammar."""

# ruff: noqa: RUF001, SIM905
import re
from functools import cache
from itertools import islice

import pytest

from tdo_plugin.data.embedded_corpus import draw
from tdo_plugin.data.grammar import linearize

SAMPLE = list(islice(draw("train", 23), 8000))


@cache
def said(language):
    return [linearize(meaning, language) for meaning in SAMPLE]


def matches(pattern, sentences):
    return [m.groups() for s in sentences for m in re.finditer(pattern, s)]


def check(pattern, allowed, sentences, least=20):
    """Each match's groups, lower-cased, must be an allowed combination; and there must be many."""
    hits = matches(pattern, sentences)
    assert len(hits) >= least, pattern
    for groups in hits:
        assert tuple(g.lower() for g in groups) in allowed, groups


def test_english_articles():
    text = said("en")
    check(r"\b([Aa]n?) ([aeiou])", {("an", v) for v in "aeiou"}, text)
    check(r"\b([Aa]n?) (?=([bcdfgklmnprstwy]))", {("a", c) for c in "bcdfgklmnprstwy"}, text)
    assert not matches(r"\b(these|two|three|many|some) (\w+ )?(book|car|dog|key|apple)\b", text)
    assert not matches(r"\b([Tt]his|an?) (\w+ )?(books|cars|dogs|keys|apples)\b", text)


def test_english_verbs():
    text = said("en")
    assert not matches(r"\b((?:teach|farm)ers|students) (is|was|does|buys|reads|eats)\b", text)
    assert not matches(r"^(The|This) (?:teacher|student|woman) (are|were|do|buy)\b", text)
    assert not matches(r"\b(did|does|do|will|can|cannot|must|wants? to) (not )?\w+(ed|ought)\b",
                       [s for s in text if " feed" not in s and " need" not in s])  # fmt: skip


GENDER = {
    "m": "Lehrer Arzt Freund Vater Bruder Koch Hund Apfel Brief Hut Mantel Schlüssel Stuhl Tisch "
         "Ball Ring Koffer Turm Baum",
    "f": "Frau Mutter Schwester Katze Kuh Maus Tomate Zeitung Tasche Tasse Lampe Kiste Tür Brücke "
         "Kirche Küche Blume",
    "n": "Kind Mädchen Pferd Schaf Buch Hemd Kleid Bild Auto Fahrrad Fenster Haus Zimmer Bett",
}  # fmt: skip
ARTICLES = {
    "m": {"der", "den", "dem", "ein", "einen", "einem", "kein", "keinen", "dieser", "diesen",
          "diesem", "mein", "meinen", "meinem", "dein", "deinen", "unser", "unseren", "unserem"},
    "f": {"die", "der", "eine", "keine", "diese", "dieser", "meine", "meiner", "deine", "unsere",
          "unserer"},
    "n": {"das", "dem", "ein", "kein", "dieses", "diesem", "mein", "meinem", "dein", "unser",
          "unserem"},
}  # fmt: skip
SAME_PLURAL = {"Lehrer", "Mädchen", "Schlüssel", "Koffer", "Fenster", "Zimmer"}


@pytest.mark.parametrize("gender", GENDER)
def test_german_gender(gender):
    nouns = [n for n in GENDER[gender].split() if n not in SAME_PLURAL]
    some = {a for group in ARTICLES.values() for a in group}
    pattern = rf"(?<!, )(?i:\b({'|'.join(sorted(some))})) ((?:[a-zäöüß]+ )?)({'|'.join(nouns)})\b"
    phrases = matches(pattern, said("de"))
    assert len(phrases) > 200
    for article, adjective, noun in phrases:
        article = article.lower()
        assert article in ARTICLES[gender], (article, noun)
        ending = ("e", "en")
        if article in ("ein", "kein", "mein", "dein", "unser"):
            ending = {"m": "er", "f": "e", "n": "es"}[gender]
        elif article in ("dem", "den", "einen", "keinen", "diesen", "meinen", "unseren"):
            ending = "en"
        assert not adjective or adjective.strip().endswith(ending), (article, adjective, noun)


def test_german_verbs_go_last_after_conjunctions():
    endings = r"(hat|haben|wird|werden|\w+t|\w+n|weiß)[.,]$"
    clauses = matches(r"(, (?:weil|dass) .*)", said("de"))
    assert len(clauses) > 200
    for (clause,) in clauses:
        assert re.search(endings, clause), clause
        assert not re.match(r", (weil|dass) (\w+ ){1,2}(hat|wird|haben|werden) ", clause), clause


def test_german_separable_verbs():
    text = said("de")
    assert not matches(r"\b(ladet|ladt|aufmacht [a-zA-Z]|zurückkehrt [a-zA-Z])", text)
    allowed = {(v, p) for v in ("mach", "mache", "machst", "macht") for p in ("auf", "zu")}
    simple = [s for s in text if "," not in s]
    check(r"\b(machs?t?|mache) .*?\b(auf|zu)[.?,]", allowed, simple, 5)


def test_french_elision_and_contractions():
    text = said("fr")
    vowel = "aeiouhâéèêîôœ"
    assert not matches(rf"(?i)\b(je|ne|que|de|le|la|ma|ta) (?!huit)([{vowel}]\w*)", text)
    elided = {(c, v) for c in ("l", "d", "n", "qu", "j", "s") for v in vowel + "y"}
    check(r"(?i)\b(l|d|n|qu|j|m|s)'(.)", elided, text, 300)
    assert not matches(r"\b(à|de) (les?) ", text)
    assert len(matches(r"\b(au|du|aux) ", text)) > 200


def test_french_gender():
    feminine = "table|porte|clé|lampe|chaise|valise|maison|voiture|robe|fille|femme|lettre|banane"
    masculine = "livre|vélo|chapeau|sac|garçon|soldat|chien|pont|lit|couteau|ballon|journal"
    text = said("fr")
    determiners = r"(?i:\b(un|une|le|la|ce|cette|mon|ma|ton|ta))"
    before = r" (?:(petite?|grande?|vieux|vieille|beau|belle|nouveau|nouvelle|jeune) )?"
    after = r" (rouge|bleu|bleue|vert|verte|blanc|blanche|noir|noire|lourd|lourde|cher|chère)\b"
    for nouns, female, allowed in (
        (feminine, True, {"une", "la", "cette", "ma", "ta"}),
        (masculine, False, {"un", "le", "ce", "mon", "ton"}),
    ):
        phrases = matches(determiners + before + rf"({nouns})\b", text)
        assert len(phrases) > 100
        for determiner, adjective, noun in phrases:
            assert determiner.lower() in allowed, (determiner, noun)
            assert not adjective or adjective == "jeune" or (adjective[-1] == "e") == female
        phrases = matches(rf"\b({nouns}){after}", text)
        assert len(phrases) > 20
        for _, adjective in phrases:
            assert adjective == "rouge" or adjective.endswith("e") == female


def test_spanish():
    text = said("es")
    assert not matches(r"\b([Aa]|de) (el) ", text)
    assert all(s.startswith("¿") == s.endswith("?") for s in text)
    feminine = "mesa|puerta|llave|casa|silla|lámpara|maleta|caja|mujer|chica|camisa"
    masculine = "libro|coche|perro|gato|bolso|sombrero|cuchillo|soldado|chico|puente"
    colour = r"(?: (rojo|roja|negro|negra|blanco|blanca|viejo|vieja|nuevo|nueva|caro|cara))?"
    for nouns, ending in ((feminine, "a"), (masculine, "o")):
        allowed = {"a": {"la", "una", "esta", "nuestra", "ninguna"},
                   "o": {"el", "al", "del", "un", "este", "nuestro", "ningún"}}[ending]  # fmt: skip
        phrases = matches(
            rf"(?i:\b(la|el|al|del|una?|est[ea]|nuestr[oa]|ningún|ninguna)) ({nouns})\b{colour}",
            text,
        )
        assert len(phrases) > 100
        for article, noun, adjective in phrases:
            assert article.lower() in allowed, (article, noun)
            assert not adjective or adjective.endswith(ending), (noun, adjective)


def test_spanish_personal_a():
    seen = 0
    for meaning, sentence in zip(SAMPLE, said("es"), strict=True):
        clause = meaning.clause
        if meaning.kind == "act_person" and clause.obj.det == "my":
            seen += 1
            assert re.search(r" a mi \w+", sentence), sentence
        if meaning.kind in ("act_time", "act_sudden") and clause.obj.det != "none":
            assert not re.search(r" al? (un|mi|tu|este|libro|coche)\b", sentence), sentence
    assert seen > 5


FEW = {"стола": "m", "книги": "f", "ключа": "m", "сумки": "f", "лампы": "f", "газеты": "f",
       "чашки": "f", "яблока": "n", "письма": "n", "яйца": "n", "ножа": "m", "стула": "m",
       "шляпы": "f", "кольца": "n"}  # fmt: skip
MANY = set("столов книг ключей сумок ламп газет чашек яблок писем яиц ножей стульев шляп колец "
           "собак кошек лошадей коров птиц кроликов мышей овец".split())  # fmt: skip


def test_russian_numerals_govern():
    text = said("ru")
    nouns = "|".join([*FEW, *MANY])
    phrases = matches(rf"(?i:\b(два|две|три|четыре|пять|шесть|восемь|десять|много|несколько)) "
                      rf"(?:(\w+(?:ых|их|ые|ие)) )?({nouns})\b", text)  # fmt: skip
    assert len(phrases) > 200
    for number, adjective, noun in phrases:
        number = number.lower()
        if number in ("два", "две", "три", "четыре"):
            assert noun in FEW, (number, noun)
            feminine = FEW[noun] == "f"
            assert number not in ("два", "две") or (number == "две") == feminine
            assert not adjective or adjective.endswith(("ые", "ие") if feminine else ("ых", "их"))
        else:
            assert noun in MANY, (number, noun)
            assert not adjective or adjective.endswith(("ых", "их"))


def test_russian_past_agrees():
    women = "Анна|Эмма|Мария|Нина|женщина|девочка|мать|сестра"
    men = "Мартин|Роберт|Виктор|врач|студент|брат|отец|учитель|мужчина"
    verb = r"(купил|читал|прочитал|съел|выпил|открыл|закрыл|нарисовал|потерял|нашёл|нашла)(а|и)?\b"
    text = [s for s in said("ru") if " и " not in s and ", " not in s]
    before, between = "(?:Наша |Наш |Моя |Мой |Эта |Этот |Вчера )?", " (?:вчера )?(?:не )?"
    for names, ending in ((women, "а"), (men, None)):
        found = matches(rf"(?i:^{before}({names}){between}{verb})", text)
        clauses = [groups for groups in found if not groups[1].startswith("наш")]
        assert len(clauses) > 8
        assert {past_ending for *_, past_ending in clauses} == {ending}


def test_russian_cases():
    text = said("ru")
    assert not matches(r"\b(этого|моего|нашего) (собаку|кошку|книгу|стол|ключ)\b", text)
    nouns = "книг|сумк|ламп|кошк|собак|шляп|комнат|картин"
    phrases = matches(rf"\b(эту|мою|твою|нашу) (\w+ )?((?:{nouns})\w*)", text)
    assert len(phrases) > 50
    for _, adjective, noun in phrases:
        assert noun.endswith("у"), noun
        assert not adjective or adjective.endswith(("ую ", "юю ")), adjective


BACK, FRONT = "aıou", "eiöü"


def last_vowel(word):
    return [c for c in word.lower() if c in BACK + FRONT][-1]


@pytest.mark.parametrize(
    "pattern", [r"(\w+)(lar|ler)\b", r"(\w+?)(?:l)(arı|eri)\b", r"(\w+[^aıoueiöü])(da|de|ta|te)\b"]
)
def test_turkish_low_harmony(pattern):
    loans = {"saat"}
    words = [g for g in matches(pattern, said("tr")) if g[0] not in loans]
    words = [g for g in words if re.search(r"[aıoueiöü]", g[0].lower())]
    assert len(words) > 100
    for stem, suffix in words:
        vowel = next(c for c in suffix if c in "ae")
        assert (last_vowel(stem) in BACK) == (vowel == "a"), (stem, suffix)


def test_turkish_high_harmony():
    expected = dict(zip("aıoueiöü", "ııuuiiüü", strict=True))
    for pattern in (
        r"(\w+)([ıiuü])yor",
        r"(\w+[^aıoueiöü])[dt]([ıiuü])[.,]",
        r"(\w+) m([ıiuü])\?",
        r"(\w+)'y?([ıiuü])\b",
    ):
        words = matches(pattern, said("tr"))
        assert len(words) > 20, pattern
        for stem, suffix in words:
            if re.search(r"[aıoueiöü]", stem):
                assert expected[last_vowel(stem)] == suffix, (stem, suffix)


def test_turkish_voicing_and_numerals():
    text = said("tr")
    simple = [s for s in text if "üstünde" not in s]
    assert not matches(r"\w+([fstkçşhp])(d[ae]n?|d[ıiuü])\b(?<!de)", simple)
    numbers = "iki|üç|dört|beş|altı|yedi|sekiz|dokuz|on|birçok|birkaç"
    assert not matches(rf"(?i)\b({numbers}) (?:\w+ )?(\w+l[ae]r)\b", text)
    assert not matches(r"\b(kitapı|köpeki|çocuku|gitiyor|yeyor|okuuyor)\b", text)


def test_japanese_counters():
    counters = {
        "冊": "本",
        "匹": "犬|猫|うさぎ|ねずみ",
        "頭": "馬|牛|羊",
        "人": "先生|学生|女性|男性|医者",
    }
    numbers = "二三四五六七八九十"
    adjectives = "小さい|大きい|古い|新しい|白い|黒い|美しい|若い|長い|面白い|高価な|強い|年老いた"
    for counter, nouns in counters.items():
        pattern = rf"[{numbers}]([^の、は])の(?:{adjectives})?({nouns})(?=[をがはに、と])"
        phrases = matches(pattern, said("ja"))
        assert len(phrases) > 5, counter
        assert {used for used, _ in phrases} == {counter}


def test_japanese_ends_and_particles():
    end = r"(ます|ません|ました|ませんでした|です|でした|ください)(か)?。$"
    wrong = r"をを|はは|がが|でで|にに|のの|[をがに]。|ますので|ましたとき"
    for sentence in said("ja"):
        assert re.search(end, sentence), sentence
        assert not re.search(wrong, sentence), sentence
