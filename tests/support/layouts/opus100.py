"""OPUS-100: an archive for each pair, one for the zero-shot pairs; noisy, with repeated rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support.layouts.case import Case
from support.layouts.packing import put, sides, tar
from support.layouts.sentences import Row, disguised, rows, sentence, with_side

HOST = "object.pouta.csc.fi/OPUS-100/v1.0"
ROOT = "opus-100-corpus/v1.0"
FIRST = {"ar-en": 0, "de-en": 10000, "en-zh": 20000, "an-en": 30000}
ZERO_SHOT = {"ar-de": 40000, "ar-zh": 41000, "de-zh": 42000, "fr-nl": 43000}
VALID, TEST = 5000, 6000  # beside the first number of the pair


def write(web: Path) -> None:
    """Lay the archives under their addresses."""
    for pair in ("ar-en", "de-en", "en-zh"):
        splits = {"train": _train(pair), "dev": _valid(pair), "test": _test(pair)}
        _put_pair(web, pair, splits)
    _put_pair(web, "an-en", {"train": _plain("an-en", 0, 150)})
    members: dict[str, bytes] = {}
    for pair, first in ZERO_SHOT.items():
        members |= _texts("zero-shot", pair, "test", rows(pair, range(first, first + 12)))
    put(web, f"{HOST}/opus-100-corpus-zeroshot-v1.0.tar.gz", tar(members))


def _put_pair(web: Path, pair: str, splits: dict[str, list[Row]]) -> None:
    members: dict[str, bytes] = {}
    for split, found in splits.items():
        members |= _texts("supervised", pair, split, found)
    put(web, f"{HOST}/opus-100-corpus-{pair}-v1.0.tar.gz", tar(members))


def _texts(domain: str, pair: str, split: str, found: list[Row]) -> dict[str, bytes]:
    names = [f"{ROOT}/{domain}/{pair}/opus.{pair}-{split}.{one}" for one in pair.split("-")]
    return sides(names[0], names[1], found)


def _plain(pair: str, first: int, size: int) -> list[Row]:
    first += FIRST[pair]
    return rows(pair, range(first, first + size))


def _train(pair: str) -> list[Row]:
    found, test, valid = _plain(pair, 0, 300), _test(pair), _valid(pair)
    english = pair.split("-").index("en")
    found[10] = ("", found[10][1])
    found[11] = (found[11][0], "  \t ")
    found[20:25] = found[15:20]
    found[30], found[31] = test[0], valid[0]
    found[32] = with_side(found[32], english, disguised(test[1][english]))
    if pair == "de-en":
        found[33] = with_side(found[33], 1, sentence("en", FIRST["ar-en"] + TEST + 2))
        found[34] = with_side(found[34], 0, sentence("de", ZERO_SHOT["de-zh"]))
    for row, sign in {40: "\ufffd", 41: "\a", 42: "\ue000", 44: "\x85"}.items():
        found[row] = with_side(found[row], 0, f"{found[row][0]}{sign}")
    # other line ends than \n end no row
    found[43] = with_side(found[43], 1, f"\r{found[43][1]}")
    found[45] = with_side(found[45], 0, f"\u2028{found[45][0]}")
    return found


def _valid(pair: str) -> list[Row]:
    found = _plain(pair, VALID, 24)
    found[3] = _test(pair)[2]
    found[7] = found[6]
    found[9] = (found[9][0], "")
    return found


def _test(pair: str) -> list[Row]:
    found = _plain(pair, TEST, 15)
    found[4] = ("", found[4][1])
    found[6] = found[5]
    return found


SUPERVISED = ("ar-en", "de-en", "en-zh")
TESTS = {
    **{f"test {pair}": 14 for pair in SUPERVISED},  # one side is empty
    **{f"test {pair}": 12 for pair in ("ar-de", "ar-zh", "de-zh")},
}
BASE = Case(
    "opus100",
    write,
    "en ar de zh an",
    {
        **{f"train {pair}": 298 for pair in SUPERVISED},  # rows 10 and 11 are empty
        "train an-en": 150,
        **{f"valid {pair}": 23 for pair in SUPERVISED},
        **TESTS,
    },
    only="en ar de zh an",
    taken={"train de-en": {"empty": 2}, "valid ar-en": {"empty": 1}},
    odd={"train ar-en": 1, "train de-en": 3, "train en-zh": 1},  # rows 32 to 34
    text={
        ("train.ar-en.en", 10): sentence("en", 12),
        ("train.ar-en.ar", 296): sentence("ar", 298),  # no line end but \n parted a row
        ("train.de-en.de", 43): sentence("de", 10045),  # without the line separator
        ("test.de-zh.zh", 11): sentence("zh", 42011),
    },
)
# of 298 rows 5 are repeated, 30 is in test, 31 in valid, and 40, 41, 42 and 44 are unreadable
REVISED = replace(
    BASE,
    variant="revised",
    languages="ar de en zh",
    rows={
        **{f"train {pair}": 287 for pair in SUPERVISED},
        **{f"valid {pair}": 21 for pair in SUPERVISED},  # also without a repeated and a test row
        **TESTS,
    },
    taken={
        "train ar-en": {"empty": 2, "duplicates": 5, "held-out-pairs": 2, "unreadable": 4},
        "valid en-zh": {"empty": 1, "duplicates": 1, "held-out-pairs": 1},
    },
    text={("train.ar-en.en", 10): sentence("en", 12)},
)
# and 32, where one side is in test; for de-en also 33 and 34, which are in tests of other pairs
STRICT = replace(
    REVISED,
    variant="revised,strict",
    rows=REVISED.rows | {"train ar-en": 286, "train de-en": 284, "train en-zh": 286},
    taken={"train de-en": {"empty": 2, "duplicates": 5, "held-out": 5, "unreadable": 4}},
    odd={},
)
CASES = (BASE, REVISED, STRICT)
