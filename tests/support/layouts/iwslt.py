"""IWSLT 2014 and 2017: talks between tags, test sets in XML, archives within an archive."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path

from support.layouts.case import MOSES, Case
from support.layouts.packing import put, tar, text
from support.layouts.sentences import long, sentence, spaced

HUB = "huggingface.co/datasets/iwslt2017/resolve/ebd7c60d9800c2a1be010a227e5f0a2363730f7a"
ARCHIVE_2017 = f"{HUB}/data/2017-01-trnmted/texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo.tgz"
TESTS_2017 = "drive.google.com/uc?id=1hIryKXS4iR9Wv_yiZv9AlgLGnOnKx2_Z"
ARCHIVE_2014 = "dl.fbaipublicfiles.com/fairseq/data/iwslt14/de-en.tgz"
FOLDER = "DeEnItNlRo-DeEnItNlRo"
NAMES = {"de": "german", "en": "english", "it": "italian", "nl": "dutch", "ro": "romanian"}
TALKS, TALK = 4, 60  # talks, and sentences of each
FIRST = {
    pair: 10000 * place
    for place, pair in enumerate(("it-en", "ro-en", "nl-en", "it-ro", "de-en", "it-nl"))
}
ELSEWHERE = 80000  # what stands in archives that must not be taken
DEV_2010, TST_2010, TST_2017 = 5000, 6000, 90000  # the first two beside the pair's first number
DEV_ROWS, TST_2010_ROWS, TST_2017_ROWS = 14, 12, 10


def write_2017(web: Path) -> None:
    """Training archive and test archive."""
    write_training_2017(web)
    members = {"2017-01-mted-test/README": b"test sets of the multilingual task\n"}
    for source, target in permutations(("en", "it", "nl", "ro"), 2):
        pair = f"{source}-{target}"
        name = f"{pair}/IWSLT17.TED.tst2017.mltlng.{pair}.{source}.xml"
        numbers = range(TST_2017, TST_2017 + TST_2017_ROWS)
        inner = tar({name: _xml("tst2017.mltlng", source, "srcset", numbers)})
        folder = f"2017-01-mted-test/texts/{source}/{target}"
        members[f"{folder}/.{pair}.tgz"] = b"\0\5\26\7 no archive"
        members[f"{folder}/{pair}.tgz"] = inner
    put(web, TESTS_2017, tar(members))


def write_training_2017(web: Path) -> None:
    """The training archive alone: every pair both ways, with text of its own each way."""
    members = {f"{FOLDER}/README": b"CC BY-NC-ND\n"}
    for pair in (*FIRST, *(pair[3:] + pair[2] + pair[:2] for pair in FIRST)):
        first = FIRST.get(pair, ELSEWHERE)
        languages = pair.split("-")
        for side, language in enumerate(languages):
            lines = _talks_2017(language, side, first, quirks=pair in FIRST)
            members[f"{FOLDER}/train.tags.{pair}.{language}"] = text(lines)
            for name, start, size in (
                ("dev2010", first + DEV_2010, DEV_ROWS),
                ("tst2010", first + TST_2010, TST_2010_ROWS),
            ):
                kind = ("srcset", "refset")[side]
                content = _xml(name, language, kind, range(start, start + size))
                members[f"{FOLDER}/IWSLT17.TED.{name}.{pair}.{language}.xml"] = content
    put(web, ARCHIVE_2017, tar(members))


def _talks_2017(language: str, side: int, first: int, quirks: bool) -> Iterator[str]:
    for talk in range(TALKS):
        head = [
            f'<doc docid="{talk + 1}" genre="lectures">',
            f"<url>http://www.ted.com/talks/{talk}</url>",
            f"<keywords>talks, {language}</keywords>",
            "<speaker>Some Body</speaker>",
            f"<talkid>{talk}</talkid>",
            f"<title>Title of {talk}</title>",
            f"<description>About {talk}</description>",
        ]
        # one side has its tags in another order, and a blank before them
        yield from (f" {tag}" for tag in (head[0], *head[:0:-1])) if side else head
        for row in range(talk * TALK, (talk + 1) * TALK):
            line = sentence(language, first + row)
            yield _line_2017(line, side, row) if quirks else line
        yield from ("<reviewer></reviewer>", '<translator href="t">A B</translator>', "</doc>")


def _line_2017(line: str, side: int, row: int) -> str:
    if row == 12:
        return f"{line.replace(' ', '  ', 1)[:-1]}\u00a0. "
    return {(10, 0): "", (11, 1): "\u00a0 "}.get((row, side), line)


def _xml(name: str, language: str, kind: str, numbers: range) -> bytes:
    tail = "" if kind == "srcset" else ' refid="ref"'
    attribute = "srclang" if kind == "srcset" else "trglang"
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<mteval>",
        f'<{kind} setid="iwslt-{name}" {attribute}="{NAMES[language]}"{tail}>',
    ]
    middle = len(numbers) // 2
    for document, part in enumerate((numbers[:middle], numbers[middle:])):
        lines += [f'<doc docid="{document}" genre="lectures">', "<title>A title</title>"]
        for place, number in enumerate(part):
            line = sentence(language, number)
            if number - numbers[0] == 3:
                line = f"Q &amp; A {line}"
            lines.append(f'<seg id="{document * middle + place + 1}">  {line}  </seg>')
        lines.append("</doc>")
    return text([*lines, f"</{kind}>", "</mteval>"])


PAIRS = ("it-en", "ro-en", "nl-en", "it-ro")
IWSLT17 = Case(
    "iwslt17",
    write_2017,
    "en it ro nl",
    {
        **{f"train {pair}": TALKS * TALK - 2 for pair in PAIRS},  # rows 10 and 11 are blank
        **{f"valid {pair}": TST_2010_ROWS for pair in PAIRS},
        **{f"test {pair}": TST_2017_ROWS for pair in PAIRS},
    },
    taken={"train it-ro": {"empty": 2}},
    text={
        ("train.it-en.it", 0): spaced("it", 0),
        ("train.it-en.en", 10): spaced("en", 12),
        ("train.nl-en.nl", 237): spaced("nl", FIRST["nl-en"] + 239),
        ("valid.it-ro.ro", 3): f"Q &amp; A {spaced('ro', FIRST['it-ro'] + 6003)}",
        ("test.it-ro.ro", 9): spaced("ro", TST_2017 + 9),
    },
    form=MOSES,
)
TST2010 = replace(
    IWSLT17,
    variant="tst2010",
    write=write_training_2017,
    rows={
        **{f"train {pair}": TALKS * TALK - 2 for pair in PAIRS},
        **{f"valid {pair}": DEV_ROWS for pair in PAIRS},
        **{f"test {pair}": TST_2010_ROWS for pair in PAIRS},
    },
    text={("test.ro-en.en", 0): spaced("en", FIRST["ro-en"] + TST_2010)},
)

SETS_2014 = {"TED.dev2010": 6, "TEDX.dev2012": 5, "TED.tst2010": 7, "TED.tst2011": 4}
SETS_2014 |= {"TED.tst2012": 3}


def write_2014(web: Path) -> None:
    """The one archive of 2014."""
    members = {"de-en/README": b"WIT3\n", "de-en/train.en": text(["Not in pairs 1."])}
    for side, language in enumerate(("de", "en")):
        members[f"de-en/train.tags.de-en.{language}"] = text(_talks_2014(language, side))
        for place, (name, size) in enumerate(SETS_2014.items()):
            kind = ("srcset", "refset")[side]
            numbers = range(1000 * (place + 1), 1000 * (place + 1) + size)
            content = _xml(name, language, kind, numbers)
            members[f"de-en/IWSLT14.{name}.de-en.{language}.xml"] = content
    put(web, ARCHIVE_2014, tar(members))


def _talks_2014(language: str, side: int) -> Iterator[str]:
    for talk in range(TALKS):
        about = [
            f"<url>http://www.ted.com/talks/{talk}</url>",
            f"<keywords>talks, {language}</keywords>",
            f"<talkid>{talk}</talkid>",
        ]
        yield from about[::-1] if side else about
        yield f"<title>{sentence(language, 700 + talk)}</title>"
        yield f"<description>{sentence(language, 800 + talk)}</description>"
        for row in range(talk * TALK, (talk + 1) * TALK):
            yield _line_2014(language, side, row)


def _line_2014(language: str, side: int, row: int) -> str:
    return {
        (100, 0): " ",
        (101, 0): long(language, 175),  # 176 tokens
        (101, 1): long(language, 175),
        (102, 0): long(language, 20),
        (102, 1): long(language, 60),
    }.get((row, side), sentence(language, row))


# 240 rows, a title and a description for each talk; 100 is blank, 101 long, 102 unequal
CLEANED_2014 = TALKS * TALK + 2 * TALKS - 3
IWSLT14 = Case(
    "iwslt14-de-en",
    write_2014,
    "de en",
    {
        "train de-en": CLEANED_2014 - 10,
        "valid de-en": 10,  # 245 // 23
        "test de-en": 25,  # 6 + 5 + 7 + 4 + 3
    },
    taken={"train de-en": {"empty": 1, "length": 1, "ratio": 1, "held out of them": 10}},
    text={
        ("train.de-en.de", 0): spaced("de", 700).lower(),
        ("train.de-en.en", 1): spaced("en", 800).lower(),
        ("valid.de-en.de", 0): spaced("de", 20).lower(),  # row 23 with two of the head
        ("train.de-en.de", 22): spaced("de", 21).lower(),
        ("test.de-en.en", 5): spaced("en", 1005).lower(),
        ("test.de-en.en", 6): spaced("en", 2000).lower(),
        ("test.de-en.en", 24): spaced("en", 5002).lower(),
    },
    form={"casing": "lowercased", "tokenization": "moses", "plain_references": True},
)
CASES = (IWSLT17, TST2010, IWSLT14)
