"""Multi30k, task 1: gzipped lines, parallel over four languages."""

from dataclasses import replace
from pathlib import Path

from support.layouts.case import Case
from support.layouts.packing import put, text, zipped
from support.layouts.sentences import disguised, sentence

COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
FOLDER = f"raw.githubusercontent.com/multi30k/dataset/{COMMIT}/data/task1/raw"
LANGUAGES = ("en", "de", "fr", "cs")
SPLITS = {"train": (0, 90), "val": (5000, 12), "test_2016_flickr": (6000, 14)}


def write(web: Path) -> None:
    for split, (first, size) in SPLITS.items():
        for language in LANGUAGES:
            lines = [sentence(language, first + number) for number in range(size)]
            if (split, language) == ("train", "en"):
                lines[30], lines[60] = lines[4], disguised(sentence("en", 6003))
            if (split, language) == ("train", "fr"):
                lines[49] = ""
            put(web, f"{FOLDER}/{split}.{language}.gz", zipped(text(lines)))


PAIRS = ("en-de", "en-fr", "en-cs")
TESTS = (*PAIRS, "de-fr", "cs-de", "cs-fr")
SHARED = Case(
    "multi30k",
    write,
    "en cs de fr",
    {
        **{"train en-de": 90, "train en-fr": 89, "train en-cs": 90},
        **{f"valid {pair}": 12 for pair in PAIRS},
        **{f"test {pair}": 14 for pair in TESTS},
    },
    taken={"train en-fr": {"empty": 1}},
    odd={f"train {pair}": 2 for pair in PAIRS},  # rows 30 and 60
    text={
        ("train.en-de.en", 30): sentence("en", 4),
        ("train.en-de.de", 30): sentence("de", 30),
        ("test.cs-fr.cs", 13): sentence("cs", 6013),
    },
)
# A third each. Row 30 goes with row 4, whose English it has, to French, where 49 is empty.
DISJOINT = replace(
    SHARED,
    variant="disjoint",
    rows=SHARED.rows | {"train en-de": 29, "train en-fr": 30, "train en-cs": 30},
    odd={"train en-fr": 1, "train en-de": 1},  # row 60 is German's
    text={
        ("train.en-de.de", 1): sentence("de", 3),
        ("train.en-de.de", 10): sentence("de", 33),
        ("train.en-fr.fr", 10): sentence("fr", 30),
    },
)
STRICT = replace(
    SHARED,
    variant="strict",
    rows=SHARED.rows | {"train en-de": 89, "train en-fr": 88, "train en-cs": 89},
    taken={"train en-fr": {"empty": 1, "held-out": 1}},
    odd={f"train {pair}": 1 for pair in PAIRS},
)
CASES = (SHARED, DISJOINT, STRICT)
