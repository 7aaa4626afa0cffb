"""The United Nations Parallel Corpus: archives in parts, test sets in one, OPUS' zips as well."""

from dataclasses import replace
from pathlib import Path

from support.layouts.case import MESSY, MESSY_TOKENS, NORMALIZED, Case, fewer
from support.layouts.packing import numbered, put, sides, tar, zip_archive
from support.layouts.sentences import Row, disguised, long, rows, sentence, spaced, with_side

UN = "www.un.org/dgacm/sites/www.un.org.dgacm/files/files/UNCORPUS"
ONE_FILE = "storage.googleapis.com/tfds-data/downloads/uncorpus/UNv1.0.en-zh.tar.gz"
PARTS = {"ar-en": 2, "en-ru": 3}
FIRST = {"ar-en": 0, "en-ru": 10000, "en-zh": 20000}
VALID, TEST = 50000, 51000
SIX = ("ar", "en", "es", "fr", "ru", "zh")


def write(web: Path) -> None:
    """Lay the United Nations' archives under their addresses."""
    write_test_sets(web)
    for pair, parts in PARTS.items():
        archive = tar(_texts(f"{pair}/UNv1.0", pair))
        size = len(archive) // parts + 1
        for number in range(parts):
            part = archive[number * size : (number + 1) * size]
            put(web, f"{UN}/UNv1.0.{pair}.tar.gz.{number:02}", part)
    put(web, ONE_FILE, tar(_texts("en-zh/UNv1.0", "en-zh")))


def write_test_sets(web: Path) -> None:
    """Lay the archive of development and test sets under its address."""
    members = {}
    for language in SIX:
        for name, first, size in (("devset", VALID, 40), ("testset", TEST, 24)):
            side = numbered(language, range(first, first + size))
            members[f"testsets/{name}/UNv1.0.{name}.{language}"] = side
    put(web, f"{UN}/UNv1.0.testsets.tar.gz", tar(members))


def write_opus(web: Path) -> None:
    """OPUS' UNPC instead of the pairs' archives."""
    write_test_sets(web)
    for pair in FIRST:
        members = {"README": b"UNPC\n", "LICENSE": b"free\n", **_texts("UNPC", pair)}
        members[f"UNPC.{pair}.xml"] = b"<cesAlign/>\n"
        put(web, f"object.pouta.csc.fi/OPUS-UNPC/v1.0/moses/{pair}.txt.zip", zip_archive(members))


def write_opus_multiun(web: Path) -> None:
    """OPUS' MultiUN instead of the pairs' archives."""
    write_test_sets(web)
    for pair in FIRST:
        members = {**_texts("MultiUN", pair), f"MultiUN.{pair}.ids": b"a\tb\t1\t1\n"}
        members["README"] = b"MultiUN\n"
        put(web, f"object.pouta.csc.fi/OPUS-MultiUN/v1/moses/{pair}.txt.zip", zip_archive(members))


def _texts(prefix: str, pair: str) -> dict[str, bytes]:
    return sides(f"{prefix}.{pair}", pair, _train(pair))


def _train(pair: str) -> list[Row]:
    train_rows = rows(pair, range(FIRST[pair], FIRST[pair] + 300))
    languages = pair.split("-")
    english = languages.index("en")
    code = languages[1 - english]

    def change(row: int, native: str | None = None, foreign: str | None = None) -> None:
        for side, changed in ((english, native), (1 - english, foreign)):
            if changed is not None:
                train_rows[row] = with_side(train_rows[row], side, changed)

    change(10, foreign="")
    change(11, native=f"{train_rows[11][english]} | {FIRST[pair] + 11}")
    change(12, native=disguised(sentence("en", VALID + 2)))
    change(13, foreign=sentence(code, TEST + 5))
    change(14, native=long("en", 300), foreign=long(code, 300))
    change(15, native=long("en", 40), foreign=long(code, 10))
    change(16, native=sentence("en", VALID + 20))  # of the devset, but not of its first rows
    if code != "zh":
        change(17, native=long("en", 249), foreign=long(code, 249))  # with the full stop just right
    change(18, native=MESSY.format(18))
    return train_rows


ALL = ("ar-en", "en-ru", "en-zh", "ar-ru", "ar-zh", "ru-zh")
TEXT = {
    ("train.en-ru.en", 0): spaced("en", 10000),
    ("train.en-zh.zh", 0): spaced("zh", 20000),
    ("train.en-ru.en", 10): f"{spaced('en', 10011)} &#124; 10011",
    ("train.en-ru.en", 13): MESSY_TOKENS.format(18),  # row 18 without rows 10 and 12 to 15
    ("train.en-ru.ru", 294): spaced("ru", 10299),
    ("test.ar-ru.ar", 23): spaced("ar", TEST + 23),
}
BASE = Case(
    "multiun",
    write,
    "en ar ru zh",
    {
        **{f"train {pair}": 295 for pair in FIRST},
        **{f"valid {pair}": 10 for pair in ALL},
        **{f"test {pair}": 24 for pair in ALL},
    },
    small=lambda corpus: fewer(corpus, 1000, 10),  # of the devset
    taken={"train en-ru": {"empty": 1, "held-out": 2, "length": 1, "ratio": 1}},
    odd={"train ar-en": 1, "train en-ru": 2, "train en-zh": 2},  # rows 16 and 18
    text=TEXT,
    form=NORMALIZED,
)
OPUS = replace(BASE, variant="opus", write=write_opus)
OPUS_MULTIUN = replace(BASE, variant="opus-multiun", write=write_opus_multiun)
SENTENCEPIECE = replace(
    BASE,
    variant="sentencepiece",
    rows=BASE.rows | {f"train {pair}": 297 for pair in FIRST},  # of any length and ratio
    taken={"train en-ru": {"empty": 1, "held-out": 2}},
    text={
        ("train.en-ru.en", 0): sentence("en", 10000),
        ("train.en-zh.zh", 0): sentence("zh", 20000),
    },
    form={},
)
CASES = (BASE, OPUS, OPUS_MULTIUN, SENTENCEPIECE)
