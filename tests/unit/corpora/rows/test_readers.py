"""Rows of every format, and what is said about a source that is not as it should be."""

import gzip
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tdo_plugin.corpora.description.schema import ConcreteSet, Deal, Member, Row
from tdo_plugin.corpora.description.wellformed import FORMATS
from tdo_plugin.corpora.rows.readers import _TEXTS, SIDES, read
from tdo_plugin.errors import UserError

Content = str | bytes
Source = Callable[..., Iterator[Row]]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """source(format, content of each member or of each of its files..., **what else a set has)."""

    def rows(form: str, *contents: Content | list[Content], **details: object) -> Iterator[Row]:
        files = {}
        for letter, content in zip("ab", contents, strict=False):
            several = content if isinstance(content, list) else [content]
            paths = [tmp_path / f"{letter}{number}" for number in range(len(several))]
            for path, text in zip(paths, several, strict=True):
                path.write_bytes(text if isinstance(text, bytes) else text.encode())
            files[Member("archive", letter)] = paths
        pair = ("en", "de")
        usual = {
            "split": "train",
            "pair": pair,
            "codes": pair,
            "encoding": "utf-8",
            "rows": "all",
            "options": {},
            "deal": None,
        }
        concrete_set = ConcreteSet(format=form, members=tuple(files), **{**usual, **details})
        return read(concrete_set, files)

    return rows


def test_every_format_of_a_description_has_a_reader() -> None:
    assert {**dict.fromkeys(SIDES, 2), **dict.fromkeys(_TEXTS, 1)} == {
        form: texts for form, (texts, _) in FORMATS.items()
    }


def test_only_newlines_end_a_line(source: Source) -> None:
    odd = "\ufeffa\rb\r\n c\x0bd\x0ce\x85f\u2028g\u2029h\x1c\n\nlast"
    rows = source("lines", gzip.compress(odd.encode()), "1\n2\n3\n4\n")
    assert list(rows) == [
        ("a b", "1"),
        (" c\x0bd\x0ce\x85f\u2028g\u2029h\x1c", "2"),
        ("", "3"),
        ("last", "4"),
    ]


def test_files_of_a_member_are_read_one_after_the_other(source: Source) -> None:
    assert [*source("lines", ["a", "b\nc\n"], ["1\n", "2\n3"])] == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
    ]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "gb18030"])
def test_other_encodings(source: Source, encoding: str) -> None:
    text = "ä ö\né\n" * 5000
    rows = source("lines", text.encode(encoding), text.encode(encoding), encoding=encoding)
    assert list(rows) == [("ä ö", "ä ö"), ("é", "é")] * 5000


TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header segtype="sentence"/><body>
<tu><tuv xml:lang="EN-us"><seg>in part &amp; whole</seg></tuv>
    <tuv xml:lang="en"><prop type="x">no</prop><seg>a &lt;b&gt;
       <hi>c</hi>&#10;d</seg></tuv><tuv xml:lang="de_AT"><seg> e </seg></tuv></tu>
<tu><tuv xml:lang="den"><seg>Slavey</seg></tuv><tuv xml:lang="en"><seg>f</seg></tuv></tu>
<tu><tuv lang="DE"><seg>g</seg></tuv><tuv lang="EN"><seg>h</seg></tuv></tu>
</body></tmx>"""

SGM = """<srcset setid="newsdev2016" srclang="any">
<doc sysid="ref" docid="1" genre="news">
<p>
<seg id="1">A &amp; B &lt; C</seg>
<SEG id="2"> AT&T &copy &#8211; &quot;x&quot; </SEG> <seg id="3"></seg>
</p></doc></srcset>
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<mteval><refset setid="t" srclang="x" trglang="y" refid="ref"><doc docid="1">
<title>left out</title>
<seg id="1"> eins </seg>
<seg id="2"> zwei&#10;Zeilen </seg><seg id="3">drei</seg>
</doc></refset></mteval>"""

TAGS = """<doc docid="1" genre="lectures">
<url>http://www.ted.com/talks/x</url>
<title>Title</title>
<description>About &amp; more </description>
 One < two
Two\u00a0
</doc>
"""
TAGE = """ <doc docid="1" genre="lectures">
 <title>Titel</title>
<description>Über
 Eins < zwei \nZwei
<talkid>1</talkid>
<reviewer href="http://x">Y</reviewer>
 </doc> """

TED = """talk_name\ten\tzh\tzh-cn\tde
a_talk\tone , two\t__NULL__\t一 。\teins
b_talk\t\tx\t"\t _ _ NULL _ _ \r
"""


@pytest.mark.parametrize(
    ("form", "contents", "details", "expected"),
    [
        ("tmx", [TMX], {}, [("a <b> c d", "e"), ("h", "g")]),
        (
            "tmx",
            [TMX.replace("UTF-8", "UTF-16").encode("utf-16")],
            {"codes": ("en-US", "de")},
            [("in part & whole", "e")],
        ),
        (
            "segments",
            [SGM, XML],
            {},
            [("A & B < C", "eins"), ('AT&T &copy \u2013 "x"', "zwei Zeilen"), ("", "drei")],
        ),
        ("tagged", [TAGS, TAGE], {}, [("One < two", "Eins < zwei"), ("Two", "Zwei")]),
        (
            "tagged",
            [TAGS, TAGE],
            {"options": {"keep": ["title", "description"]}},
            [
                ("Title", "Titel"),
                ("About &amp; more", "Über"),
                ("One < two", "Eins < zwei"),
                ("Two", "Zwei"),
            ],
        ),
        (
            "tsv",
            ["\nx\t1\ty\tz\n\t\t\n\nu\t2\n"],
            {"options": {"columns": {"de": 0, "en": 2}}},
            [("", ""), ("y", "x"), ("", ""), ("", ""), ("", "u")],
        ),
        (
            "multiway-tsv",
            [TED],
            {"pair": ("en", "zh"), "codes": ("en", "zh-cn")},
            [("one , two", "一 。"), ("", '"')],
        ),
        ("multiway-tsv", [TED], {}, [("one , two", "eins"), ("", " _ _ NULL _ _ ")]),
    ],
)
def test_rows_of_a_format(
    source: Source, form: str, contents: list[Content], details: dict, expected: list[Row]
) -> None:
    assert list(source(form, *contents, **details)) == expected


BAD = b"good\n" * 5000 + b"b\xe4d\n" + b"more\n" * 5000
COLUMNS = {"options": {"columns": {"en": 0, "de": 1}}}


@pytest.mark.parametrize(
    ("form", "contents", "details", "message"),
    [
        (
            "lines",
            ["1\n2\n3\n", "1\n2\n"],
            {},
            r"b0` must have as many sentences as a0 \(3\); it has 2",
        ),
        ("lines", ["", "1\n2\n"], {}, r"a0` must have as many sentences as b0 \(2\); it has 0"),
        (
            "lines",
            [["1"], ["1", "2"]],
            {},
            r"`b` must match as many files as a \(1\); it matches 2",
        ),
        ("lines", [BAD, b""], {}, r"a0` line 5001 must be UTF-8 text; it is not \(invalid"),
        ("lines", ["x\ny", b"x\n\xc3"], {}, r"b0` line 2 must be UTF-8 text; it is not \(unexp"),
        ("lines", [gzip.compress(BAD), b""], {}, r"a0` line 5001 must be UTF-8 text"),
        ("lines", ["1", "ä".encode()], {"encoding": "ascii"}, r"b0` line 1 must be ASCII text"),
        (
            "lines",
            [gzip.compress(b"good\n")[:-9], b"good\n"],
            {},
            r"a0` must be complete; unpacking it gave",
        ),
        ("tmx", [gzip.compress(TMX.encode())[:-9]], {}, r"a0` must be complete; unpacking it gave"),
        (
            "tagged",
            [TAGS, TAGE + "\nmore\n"],
            {},
            r"a0` must have as many sentences as b0 \(3\); it has 2",
        ),
        ("segments", [SGM, XML.replace("drei</seg>", "")], {}, r"b0` line 5 must close its <seg>"),
        ("segments", [SGM, ""], {}, r"b0` must have as many sentences as a0 \(3\); it has 0"),
        ("tsv", ["\n<html>\n"], COLUMNS, r"a0` line 2 must have 2 columns or more; it has 1"),
        ("tsv", ["a\tb\n"], {}, r"`columns` must name en; it names nothing"),
        ("multiway-tsv", ["talk\ten\tfr\n"], {}, r"a0` line 1 must name de; it names talk, en, fr"),
        (
            "multiway-tsv",
            [TED + "x\ty\n"],
            {},
            r"a0` line 4 must have the header's 5 columns; it has 2",
        ),
        ("tmx", [TMX[:-13]], {}, r"a0` line 9 must be XML; it is not \(no element found"),
        (
            "tmx",
            ["<html>\n<p>\n</html>"],
            {},
            r"a0` line 3 must be XML; it is not \(mismatched tag",
        ),
        ("tmx", [TMX], {"codes": ("en", "fr")}, r"units with en and fr; it has en-us, en, de-at"),
    ],
)
def test_one_line_about_what_is_wrong(
    source: Source, form: str, contents: list, details: dict, message: str
) -> None:
    with pytest.raises(UserError, match=message) as error:
        list(source(form, *contents, **details))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("all", range(10)),
        ("first:3", range(3)),
        ("last:3", range(7, 10)),
        ("without:2:3", range(2, 7)),
        ("without:0:0", range(10)),
        ("without:6:6", []),
        ("first:20", range(10)),
        ("last:20", range(10)),
    ],
)
def test_some_of_the_rows(source: Source, which: str, expected: range) -> None:
    text = "".join(f"{number}\n" for number in range(10))
    assert [int(first) for first, _ in source("lines", text, text, rows=which)] == [*expected]


def test_sides_are_compared_to_their_end(source: Source) -> None:
    with pytest.raises(UserError, match="must have as many sentences"):
        list(source("lines", "1\n2\n3\n", "1\n2\n", rows="first:1"))


def test_dealt_rows_follow_an_equal_sentence(source: Source) -> None:
    english = [*"abcabdaeffg"]
    german = [str(number) for number in range(len(english))]
    texts = ["\n".join(side) for side in (english, german)]
    dealt = [
        list(source("lines", *texts, deal=Deal(side=0, parts=3, part=part))) for part in range(3)
    ]
    rows = list(zip(english, german, strict=True))
    assert dealt == [
        [row for row in rows if english.index(row[0]) % 3 == part] for part in range(3)
    ]


@pytest.mark.parametrize("form", ["lines", "tagged", "segments", "tsv", "multiway-tsv", "tmx"])
def test_memory_does_not_grow_with_a_file(source: Source, form: str) -> None:
    count = 4000
    sentence = "word " * 30
    one_side = {"lines": "{0}\n", "tagged": "{0}\n", "segments": "<seg>{0}</seg>\n"}.get(form, "")
    both = {
        "tsv": "{0}\t{0}\n",
        "multiway-tsv": "{0}\t{0}\n",
        "tmx": '<tu><tuv lang="en"><seg>{0}</seg></tuv><tuv lang="de"><seg>{0}</seg></tuv></tu>\n',
    }.get(form, "")
    text = (one_side or both).format(sentence) * count
    if form == "multiway-tsv":
        text = "en\tde\n" + text
    if form == "tmx":
        text = f"<tmx><body>{text}</body></tmx>"
    rows = source(
        form, *([text, text] if one_side else [text]), **(COLUMNS if form == "tsv" else {})
    )
    assert len(text) > 600_000
    del text
    tracemalloc.start()
    assert sum(1 for _ in rows) == count
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300_000
