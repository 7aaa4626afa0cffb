"""Europarl v7: one archive for four languages, one for each pair, and the sets of 2006."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from support.layouts.case import MESSY, MESSY_TOKENS, MOSES, NORMALIZED, Case
from support.layouts.packing import numbered, put, sides, tar
from support.layouts.sentences import Row, disguised, long, rows, sentence, spaced, with_side

from tdo_plugin.corpora.description import Corpus, Take

STATMT = "www.statmt.org"
TWELVE = ("cs", "fi", "el", "hu", "lt", "lv", "pl", "pt", "sk", "sl", "sv", "es")
VALID, TEST, TEST_2006 = 50000, 51000, 52000
VALID_ROWS, TEST_ROWS, TEST_2006_ROWS = 20, 16, 18
FIRST = {language: 1000 * place for place, language in enumerate(("de", "fr", *TWELVE))}


def write(web: Path) -> None:
    """The archive of four languages and the sets of 2006."""
    write_sets(web)
    members: dict[str, bytes] = {}
    for language in ("cs", "de", "es", "fr"):
        is_trained = language in ("de", "fr")
        text_rows = _train(language) if is_trained else rows(f"{language}-en", range(5))
        pair = f"{language}-en"
        members |= sides(f"training/europarl-v7.{pair}", pair, text_rows)
    put(web, f"{STATMT}/wmt13/training-parallel-europarl-v7.tgz", tar(members))


def write_with_test2006(web: Path) -> Mapping[str, Path]:
    """The same, and the test sets that have no address."""
    write(web)
    folder = web.parent / "own"
    numbers = range(TEST_2006, TEST_2006 + TEST_2006_ROWS)
    for language in ("de", "en", "fr"):
        put(folder, f"test2006.{language}", numbered(language, numbers))
    return {path.name: path for path in folder.iterdir()}


def write_pairs(web: Path) -> None:
    """An archive for each of the twelve pairs, and the sets of 2006."""
    write_sets(web)
    for language in TWELVE:
        pair = f"{language}-en"
        members = sides(f"europarl-v7.{pair}", pair, _train_of_twelve(language))
        put(web, f"{STATMT}/europarl/v7/{pair}.tgz", tar(members))


def write_sets(web: Path) -> None:
    """The archive of development sets under its address."""
    members = {}
    sets = (("dev/dev2006", VALID, VALID_ROWS), ("devtest/devtest2006", TEST, TEST_ROWS))
    for language in ("de", "en", "es", "fr"):
        for name, first, size in (*sets, ("dev/nc-dev2007", 59000, 5)):
            members[f"wmt07/{name}.{language}"] = numbered(language, range(first, first + size))
    put(web, f"{STATMT}/wmt07/devsets.tgz", tar(members))


def _train(language: str) -> list[Row]:
    text_rows = rows(f"{language}-en", range(FIRST[language], FIRST[language] + 300))
    text_rows[10] = ("", text_rows[10][1])
    text_rows[12] = with_side(text_rows[12], 1, disguised(sentence("en", VALID + 2)))
    text_rows[13] = with_side(text_rows[13], 0, sentence(language, TEST + 5))
    text_rows[14] = (long(language, 300), long("en", 300))
    text_rows[15] = (long(language, 10), long("en", 40))
    text_rows[16] = with_side(text_rows[16], 1, MESSY.format(16))
    text_rows[17] = with_side(text_rows[17], 1, sentence("en", TEST_2006 + 3))
    text_rows[18] = with_side(text_rows[18], 0, sentence(language, TEST_2006 + 4))
    return text_rows


def _train_of_twelve(language: str) -> list[Row]:
    first = FIRST[language]
    if language == "cs":  # each row twice, so that held-out rows are in train unless taken out
        return rows("cs-en", [first + number % 75 for number in range(150)])
    text_rows = rows(f"{language}-en", range(first, first + 150))
    text_rows[10] = ("", "")
    if language == "es":
        text_rows[30] = (sentence("es", VALID + 4), sentence("en", VALID + 4))
        text_rows[31] = with_side(text_rows[31], 1, sentence("en", TEST + 5))
    return text_rows


PAIRS = ("de-en", "fr-en", "de-fr")
DE_FR = Case(
    "europarl-de-fr",
    write,
    "en de fr",
    {
        # without the empty row 10, 12 and 13 of the test sets, the long 14 and the unequal 15
        **{f"train {pair}": 295 for pair in PAIRS[:2]},
        **{f"valid {pair}": VALID_ROWS for pair in PAIRS},
        **{f"test {pair}": TEST_ROWS for pair in PAIRS},
    },
    taken={"train fr-en": {"empty": 1, "held-out": 2, "length": 1, "ratio": 1}},
    odd={"train de-en": 2, "train fr-en": 3},  # 17 and 18, and 16 where rows begin elsewhere
    text={
        ("train.de-en.de", 0): spaced("de", 0).lower(),
        ("train.de-en.en", 11): MESSY_TOKENS.format(16).lower(),
        ("test.de-fr.fr", 15): spaced("fr", TEST + 15).lower(),
    },
    form={**NORMALIZED, "casing": "lowercased"},
)
# row 12 is in no set then, but 17 and 18 are
WITH_TEST_2006 = replace(
    DE_FR,
    variant="test2006",
    write=write_with_test2006,
    rows={
        **{f"train {pair}": 294 for pair in PAIRS[:2]},
        **{f"valid {pair}": TEST_ROWS for pair in PAIRS},
        **{f"test {pair}": TEST_2006_ROWS for pair in PAIRS},
    },
    taken={"train fr-en": {"empty": 1, "held-out": 3, "length": 1, "ratio": 1}},
    odd={"train de-en": 1, "train fr-en": 2},
    text={("valid.fr-en.fr", 3): spaced("fr", TEST + 3).lower()},
)


def ten(corpus: Corpus) -> Corpus:
    """1,000 held-out rows become 10, at most 612,000 and 600,000 rows as many as there are."""
    take = Take(rows=10)
    return replace(corpus, hold_out=replace(corpus.hold_out, valid=take, test=take))


def sampled(corpus: Corpus) -> Corpus:
    """Of 150 rows 120 are drawn and at most 80 kept for train."""
    drawn = replace(ten(corpus), limit={"train": 80})
    return replace(drawn, sample=replace(corpus.sample, pairs=120))


OTHERS = tuple(f"{language}-en" for language in TWELVE if language not in ("cs", "es"))
ENGLISH_TO_TWELVE = Case(
    "europarl-12",
    write_pairs,
    f"en {' '.join(TWELVE)}",
    {
        **{f"train {pair}": 129 for pair in OTHERS},  # one is empty, 20 are held out
        # of 130 up to 20 are equal to one that is held out; fewer where both copies are
        "train cs-en": range(110, 131),
        "train es-en": 148,  # without the empty row 10, and row 30, which is in valid
        **{f"{split} {pair}": 10 for split in ("valid", "test") for pair in (*OTHERS, "cs-en")},
        "valid es-en": VALID_ROWS,
        "test es-en": TEST_ROWS,
    },
    small=ten,
    taken={
        "train sv-en": {"empty": 1, "held out of them": 20, "held-out-pairs": 0},
        "train es-en": {"empty": 1, "held-out-pairs": 1},
    },
    odd={"train es-en": 1},  # row 31
    text={
        ("train.es-en.es", 0): spaced("es", FIRST["es"]).lower(),
        ("train.es-en.en", 0): spaced("en", FIRST["es"]).lower(),
        ("test.es-en.es", 0): spaced("es", TEST).lower(),
    },
    form={**MOSES, "casing": "truecased"},
)
FEW = "en sv es"
SAMPLED = replace(
    ENGLISH_TO_TWELVE,
    only=FEW,
    languages=FEW,
    small=sampled,
    rows={
        **{"train sv-en": 80, "valid sv-en": 10, "test sv-en": 10},
        **{"train es-en": 80, "valid es-en": VALID_ROWS, "test es-en": TEST_ROWS},
    },
    taken={},
    odd={"train es-en": range(0, 2)},
    text={},
)
STRICT = replace(
    SAMPLED,
    variant="strict",
    small=ten,
    rows=SAMPLED.rows | {"train sv-en": 129, "train es-en": 147},  # row 31 goes as well
    taken={"train es-en": {"empty": 1, "held-out": 2}},
    odd={},
)
CASES = (DE_FR, WITH_TEST_2006, ENGLISH_TO_TWELVE, SAMPLED, STRICT)
