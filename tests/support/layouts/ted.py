"""The multi-way TED talks: three tables in one archive, Moses tokens, many gaps.

A cell is missing where (row - place of the language) divides by 7; English is always there, but for
what `TRAIN` says. The text is tokenized and escaped, as Moses left it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from support.layouts.case import Case
from support.layouts.packing import put, tar, text
from support.layouts.sentences import sentence

from tdo_plugin.corpora.description import Corpus

ADDRESS = "phontron.com/data/ted_talks.tar.gz"
COLUMNS = (
    "talk_name en es pt-br fr ru he ar ko zh-cn it ja zh-tw nl ro tr de vi pl pt bg el fa sr hu hr "
    "uk cs id th sv sk sq lt da calv my sl mk fr-ca fi hy hi nb ka mn et ku gl mr zh ur eo ms az "
    "ta bn kk be eu bs"
)
HEADER = COLUMNS.split()
LANGUAGES = "en ar he ru ko it ja zh es nl vi tr fr pl ro fa hr cs de"
PLACES = LANGUAGES.split()
MISSING = "__NULL__"
PARTLY = "_ _ NULL _ _"
ESCAPED = "It &apos;s 24 &quot; old &quot; rules &#91; one &amp; two &#93; ."
VALID, TEST = 5000, 6000  # numbers of the first sentences
TRAIN_ROWS, VALID_ROWS, TEST_ROWS = 140, 40, 42
CROATIAN_ENDS = 20  # no Croatian from this row of valid and test on

Cells = dict[str, str]


def tokenized(language: str, number: int) -> str:
    """A sentence whose full stop stands apart."""
    line = sentence(language, number)
    return f"{line[:-1]} {line[-1]}"


TRAIN: Mapping[int, Callable[[Cells], object]] = {
    5: lambda cells: cells.update(en=MISSING),
    9: lambda cells: cells.update(en=f"When I was 9 , {PARTLY}"),
    13: lambda cells: cells.update(en="A 13 that is NULL ."),
    20: lambda cells: cells.update(he="  "),
    21: lambda cells: cells.update(de=f"{tokenized('de', 21)} {PARTLY}"),
    24: lambda cells: cells.update(en=ESCAPED),
    25: lambda cells: cells.update(zh="别的 25 。"),  # not the Chinese that is wanted
    29: lambda cells: cells.update(_row(22, 0)),
    30: lambda cells: cells.update(en=tokenized("en", VALID).upper()),
    31: lambda cells: cells.update(de=tokenized("de", TEST + 3)),
}


def write(web: Path) -> None:
    sets = {"dev": (VALID_ROWS, VALID), "test": (TEST_ROWS, TEST), "train": (TRAIN_ROWS, 0)}
    put(web, ADDRESS, tar({f"all_talks_{name}.tsv": _table(*each) for name, each in sets.items()}))


def _table(size: int, first: int) -> bytes:
    lines = ["\t".join(HEADER)]
    for row in range(size):
        cells = _row(row, first)
        if first and row >= CROATIAN_ENDS:
            cells["hr"] = MISSING
        if not first and row in TRAIN:
            TRAIN[row](cells)
        lines.append("\t".join(cells[column] for column in HEADER))
    return text(lines)


def _row(row: int, first: int) -> Cells:
    cells = dict.fromkeys(HEADER, MISSING)
    cells["talk_name"] = f"somebody_about_something_{row // 20}"
    for place, language in enumerate(PLACES):
        if language == "en" or (row - place) % 7:
            column = "zh-cn" if language == "zh" else language
            cells[column] = tokenized(language, first + row)
    return cells


def thirty(corpus: Corpus) -> Corpus:
    """2,000 rows of valid and test at most become 30."""
    return replace(corpus, limit={"valid": 30, "test": 30})


# Of 140 rows every language lacks 20, English 5, 9 and 13. Row 5 is missing anyway in Italian and
# French, row 9 in Hebrew, Dutch and Croatian, row 13 in Japanese and Polish.
TRAIN_LEFT = {language: 117 for language in PLACES[1:]} | {
    **{language: 118 for language in ("it", "fr", "nl", "hr", "ja", "pl")},
    "he": 117,  # and the blank of row 20
    "de": 116,  # and the half of row 21
}
VALID_LEFT = {language: 30 for language in PLACES[1:]} | {"hr": 17}  # 20 but for rows 2, 9, 16
# each pair lacks 12 of 42 rows at most; Croatian lacks rows of its partner among the first 20
CROATIAN_TEST = {
    **{language: 14 for language in PLACES},
    **{"en": 17, "he": 17, "nl": 17, "ja": 15, "pl": 15},
}


def left(languages: str) -> dict[str, int]:
    """What must be left of each split of each pair."""
    names = languages.split()
    counts = {f"train en-{language}": TRAIN_LEFT[language] for language in names[1:]}
    counts |= {f"valid en-{language}": VALID_LEFT[language] for language in names[1:]}
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            partner = {first, second} - {"hr"}
            count = 30 if len(partner) == 2 else CROATIAN_TEST[partner.pop()]
            counts[f"test {first}-{second}"] = count
    return counts


FEW = "en ar he zh hr de"
FEW_LANGUAGES = Case(
    "ted19",
    write,
    FEW,
    left(FEW),
    only=FEW,
    small=thirty,
    taken={
        "train en-he": {"empty": 1, "contains": 22},
        "train en-de": {"empty": 0, "contains": 24},
    },
    odd={"train en-ar": 1, "train en-zh": 1, "train en-de": 2},  # rows 30 and 31
    text={
        ("train.en-ar.en", 0): tokenized("en", 0),
        ("train.en-ar.ar", 1): tokenized("ar", 2),  # row 1 has no Arabic
        ("train.en-zh.zh", 0): tokenized("zh", 1),
        ("test.en-ar.ar", 29): tokenized("ar", TEST + 34),  # rows 1, 8, 15, 22 and 29 have none
    },
    form={"casing": "cased", "tokenization": "moses", "tokenized_at_source": True},
)
STRICT = replace(
    FEW_LANGUAGES,
    variant="strict",
    rows=left(FEW) | {"train en-ar": 116, "train en-zh": 116, "train en-de": 114},
    odd={},
    taken={"train en-de": {"empty": 0, "contains": 24, "held-out": 2}},
)
ALL_LANGUAGES = Case("ted19", write, LANGUAGES, left(LANGUAGES), small=thirty)
CASES = (FEW_LANGUAGES, STRICT)
