"""News Commentary v16: a table for each pair, with lines between its articles."""

from pathlib import Path

from support.layouts.case import MOSES, Case, fewer
from support.layouts.packing import put, text, zipped
from support.layouts.sentences import rows, sentence, spaced, with_side

FOLDER = "data.statmt.org/news-commentary/v16/training"
FIRST = {"de-es": 0, "de-fr": 10000, "es-fr": 20000}
LINES = 360


def write(web: Path) -> None:
    for pair, first in FIRST.items():
        table = rows(pair, range(first, first + LINES))
        if pair == "de-fr":
            table[50] = with_side(table[50], 0, sentence("de", FIRST["de-es"] + 3))
        if pair == "es-fr":
            table[60] = with_side(table[60], 1, sentence("fr", FIRST["de-fr"] + 341))
        table[100] = (table[100][0], "")
        table[101] = ("", table[101][1])
        for line in range(19, LINES, 20):
            table[line] = ("", "")
        content = zipped(text("\t".join(row) for row in table))
        put(web, f"{FOLDER}/news-commentary-v16.{pair}.tsv.gz", content)


# Lines 0 to 29 are test, one of them between articles; 330 to 359 are valid, two of them between
# articles. Of the 300 lines of train 15 are between articles and two have one side only.
CASE = Case(
    "news-commentary-v16",
    write,
    "de es fr",
    {
        **{"train de-es": 283, "train de-fr": 282, "train es-fr": 282},
        **{f"valid {pair}": 28 for pair in FIRST},
        **{f"test {pair}": 29 for pair in FIRST},
    },
    small=lambda corpus: fewer(corpus, 3000, 30),  # the first and last lines
    taken={
        "train de-es": {"empty": 17, "held-out": 0},
        "train es-fr": {"empty": 17, "held-out": 1},
        "test de-fr": {"empty": 1},
    },
    text={
        ("test.de-es.de", 0): spaced("de", 0),
        ("train.de-es.es", 0): spaced("es", 30),
        ("valid.es-fr.es", 0): spaced("es", FIRST["es-fr"] + 330),
        ("valid.es-fr.fr", 27): spaced("fr", FIRST["es-fr"] + 358),
    },
    form=MOSES,
)
CASES = (CASE,)
