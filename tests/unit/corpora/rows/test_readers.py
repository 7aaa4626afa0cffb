"""Rows of every format, and what is said about a source that is not as it should be."""

import gzip
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tdo_plugin.corpora.description.schema import ConcreteSet, Deal, Member, Row
from tdo_plugin.corpora.description.wellformed import FORMATS
from tdo_plugin.corpora.rows.readers import _TEXTS, SIDES, read
from tdo_plugin.errors import UserError

Content = str | bytes
Source = Callable[..., Iterator[Row]]


@pytest.fixture
def source(tmp_path):
    """source(format, content of each member or of each of its files..., **what else a set has)."""

    def rows(form: str, *contents: Content | list[Content], **details: object) -> Iterator[Row]:
        files = {}
        for letter, content in zip("ab", contents, strict=False):
            several = content if isinstance(content, list) else [content]
            paths = [tmp_path / f"{letter}{number}" for number in range(len(several))]
            for path, text in zip(paths, several, strict=True):
                path.write_bytes(text if isinstance(text, bytes) else text.encode())
            files[Member("archive", letter)] = paths
        usual = {
            **{"split": "train", "pair": ("en", "de"), "codes": ("en", "de"), "encoding": "utf-8"},
            **{"rows": "all", "options": {}, "deal": None},
        }
        concrete_set = ConcreteSet(format=form, members=tuple(files), **{**usual, **details})
        return read(concrete_set, files, tmp_path / "scratch", rows.left_out)

    rows.left_out = Counter()
    return rows


def test_every_format_of_a_description_has_a_reader():
    assert {**dict.fromkeys(SIDES, 2), **dict.fromkeys(_TEXTS, 1)} == {
        form: texts for form, (texts, _) in FORMATS.items()
    }


def test_only_newlines_end_a_line_also_in_the_next_file(source):
    odd = "\ufeffa\rb\r\n c\x0bd\x0ce\x85f\u2028g\u2029h\x1c\n\nlast"
    assert list(source("lines", gzip.compress(odd.encode()), "1\n2\n3\n4\n")) == [
        ("a b", "1"),
        (" c\x0bd\x0ce\x85f\u2028g\u2029h\x1c", "2"),
        ("", "3"),
        ("last", "4"),
    ]
    rows = source("lines", ["a", "b\nc\n"], ["1\n", "2\n3"])
    assert [*rows] == [("a", "1"), ("b", "2"), ("c", "3")]


def test_rows_are_dealt_in_the_folder_given(source, tmp_path):
    rows = source("lines", "1\n2\n3\n", "a\nb\nc\n", deal=Deal(0, 2, 0))
    assert [*rows] == [("1", "a"), ("3", "c")]
    assert (tmp_path / "scratch").is_dir()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "gb18030"])
def test_other_encodings(source, encoding):
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
CODED = """<?xml version='1.0'?><tmx version='1.4'><body><tu>
<tuv xml:lang='en'><seg><bpt i='1'>&lt;b&gt;</bpt>A <hi>dog</hi><ept i='1'>&lt;/b&gt;</ept> runs<ph
type='lb'/>now<it pos='begin'>{1}<sub>a note</sub></it><ut>\\par</ut>.</seg></tuv>
<tuv xml:lang='de'><seg>Ein Hund</seg></tuv></tu></body></tmx>"""
BIG5 = """<?xml version="1.0" encoding="Big5"?><tmx><body><tu>
<tuv lang="en"><seg>hello</seg></tuv><tuv lang="zh-cn"><seg>你好</seg></tuv></tu></body></tmx>"""
TMX_16 = TMX.replace("UTF-8", "UTF-16").encode("utf-16")
SEGMENTS = [("A & B < C", "eins"), ('AT&T &copy \u2013 "x"', "zwei Zeilen"), ("", "drei")]
HEAD = [("Title", "Titel"), ("About &amp; more", "Über")]
TALK = [("One < two", "Eins < zwei"), ("Two", "Zwei")]
COLUMNED, BLANK = "\nx\t1\ty\tz\n\t\t\n\nu\t2\n", ("", "")
TURNED = {"options": {"columns": {"de": 0, "en": 2}}}
TMX_KOI = """<tmx><body><tu><tuv lang="en"><seg>hello</seg></tuv>
<tuv lang="de"><seg>привет</seg></tuv></tu></body></tmx>"""
CHINESE = {"pair": ("en", "zh"), "codes": ("en", "zh-cn")}


@pytest.mark.parametrize(
    ("form", "contents", "details", "expected"),
    [
        ("tmx", [TMX], {}, [("a <b> c d", "e"), ("h", "g")]),
        ("tmx", [TMX_16], {"codes": ("en-US", "de")}, [("in part & whole", "e")]),
        ("tmx", [CODED], {}, [("A dog runs now.", "Ein Hund")]),
        ("tmx", [BIG5.encode("big5")], CHINESE, [("hello", "你好")]),
        ("tmx", [TMX_KOI.encode("koi8-r")], {"encoding": "koi8-r"}, [("hello", "привет")]),
        ("segments", [SGM, XML], {}, SEGMENTS),
        ("tagged", [TAGS, TAGE], {}, TALK),
        ("tagged", [TAGS, TAGE], {"options": {"keep": ["title", "description"]}}, [*HEAD, *TALK]),
        ("tsv", [COLUMNED], TURNED, [BLANK, ("y", "x"), BLANK, BLANK, ("", "u")]),
        ("multiway-tsv", [TED], CHINESE, [("one , two", "一 。"), ("", '"')]),
        ("multiway-tsv", [TED], {}, [("one , two", "eins"), ("", " _ _ NULL _ _ ")]),
    ],
)
def test_rows_of_a_format(source, form, contents, details, expected):
    assert list(source(form, *contents, **details)) == expected


COLUMNS = {"options": {"columns": {"en": 0, "de": 1}}}


def deep_tmx(levels: int) -> str:
    """A memory with a segment of so many elements in each other."""
    text = "<hi>" * levels + "a" + "</hi>" * levels
    return f"<tmx><body><tu><tuv lang='en'><seg>{text}</seg></tuv></tu></body></tmx>"


def test_a_table_of_which_most_lines_are_wider_is_refused(source):
    options = {"columns": {"de": 0, "en": 1}}
    rows = source("tsv", "eins\tone\t\nzwei\ttwo\t\t\n", options=options)
    assert len([*rows]) == 2 and not source.left_out  # cells without text are nothing
    with pytest.raises(UserError, match="at most 2 columns"):
        list(source("tsv", "eins\tone\n" + "zwei\ttwo\tx\n" * 2, options=options))


def test_what_is_not_used_is_counted(source):
    stray = "ein\tHund\ta\tdog\nja\tyes\nnein\tno\nnur\n"
    rows = source("tsv", "eins\tone\n" + stray, options={"columns": {"de": 0, "en": 1}})
    assert [*rows] == [("one", "eins"), ("yes", "ja"), ("no", "nein"), ("", "nur")]
    assert source.left_out == {"more columns than the first line": 1}
    source.left_out.clear()
    assert len([*source("tmx", TMX)]) == 2
    further = {"further variants of en in one unit": 1}
    assert source.left_out == {"units without one of the languages": 1} | further


def test_a_line_of_any_length_takes_bounded_memory(source):
    text = "a" * 20_000_000 + "\n"
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match="a0` must have lines of at most 1,000,000 characters"):
            list(source("lines", gzip.compress(b"x\n" + text.encode()), "1\n2\n"))
        assert tracemalloc.get_traced_memory()[1] - len(text) < 60_000_000
    finally:
        tracemalloc.stop()


def test_what_is_wrong_is_named_with_its_line(source, refused):
    bad = b"good\n" * 5000 + b"b\xe4d\n" + b"more\n" * 5000
    cut, open_tag = gzip.compress(b"good\n")[:-9], XML.replace("drei</seg>", "")
    for case, form, contents, details, names in (
        ("shorter", "lines", ["1\n2\n3\n", "1\n2\n"], {}, "a0 (3); it has 2"),
        ("rows", "lines", ["1\n2\n3\n", "1\n2\n"], {"rows": "first:1"}, "a0 (3); it has 2"),
        ("empty", "lines", ["", "1\n2\n"], {}, "b0 (2); it has 0"),
        ("files", "lines", [["1"], ["1", "2"]], {}, "a (1); it matches 2"),
        ("byte", "lines", [bad, b""], {}, "a0` line 5001"),
        ("last byte", "lines", ["x\ny", b"x\n\xc3"], {}, "b0` line 2"),
        ("zipped byte", "lines", [gzip.compress(bad), b""], {}, "a0` line 5001"),
        ("ASCII", "lines", ["1", "ä".encode()], {"encoding": "ascii"}, "b0` line 1"),
        ("cut", "lines", [cut, b"good\n"], {}, "a0"),
        ("cut TMX", "tmx", [gzip.compress(TMX.encode())[:-9]], {}, "a0"),
        ("tagged", "tagged", [TAGS, TAGE + "\nmore\n"], {}, "b0 (3); it has 2"),
        ("open tag", "segments", [SGM, open_tag], {}, "b0` line 5"),
        ("no XML", "segments", [SGM, ""], {}, "a0 (3); it has 0"),
        ("columns", "tsv", ["\n<html>\n"], COLUMNS, "a0` line 2"),
        ("no columns", "tsv", ["a\tb\n"], {}, "`columns` must name en"),
        ("header", "multiway-tsv", ["talk\ten\tfr\n"], {}, "a0` line 1 must name de"),
        ("short row", "multiway-tsv", [TED + "x\ty\n"], {}, "a0` line 4"),
        ("cut XML", "tmx", [TMX[:-13]], {}, "a0` line 9"),
        ("rot13", "tmx", [BIG5.replace("Big5", "rot13")], {}, "must declare an encoding of text"),
        ("unknown", "tmx", [BIG5.replace("Big5", "x-1")], {}, "must declare an encoding of text"),
        ("not Big5", "tmx", [BIG5.encode()[:-60] + b"\xff"], {}, "must be big5 text"),
        ("levels", "tmx", [deep_tmx(3000)], {}, "levels"),
        ("HTML", "tmx", ["<html>\n<p>\n</html>"], {}, "a0` line 3"),
        ("French", "tmx", [TMX], {"codes": ("en", "fr")}, "it has en-us, en, de-at"),
    ):
        with refused.raised(case, names=names):
            list(source(form, *contents, **details))


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
def test_some_of_the_rows(source, which, expected):
    text = "".join(f"{number}\n" for number in range(10))
    assert [int(first) for first, _ in source("lines", text, text, rows=which)] == [*expected]


UNIT = '<tu><tuv lang="en"><seg>{0}</seg></tuv><tuv lang="de"><seg>{0}</seg></tuv></tu>\n'


@pytest.mark.parametrize(
    ("form", "row", "files"),
    [
        ("lines", "{0}\n", 2),
        ("tagged", "{0}\n", 2),
        ("segments", "<seg>{0}</seg>\n", 2),
        ("tsv", "{0}\t{0}\n", 1),
        ("multiway-tsv", "{0}\t{0}\n", 1),
        ("tmx", UNIT, 1),
    ],
)
def test_memory_does_not_grow_with_a_file(source, form, row, files):
    count, around = 4000, {"multiway-tsv": "en\tde\n{}", "tmx": "<tmx><body>{}</body></tmx>"}
    text = around.get(form, "{}").format(row.format("word " * 30) * count)
    rows = source(form, *[text] * files, **(COLUMNS if form == "tsv" else {}))
    assert len(text) > 600_000
    del text
    tracemalloc.start()
    assert sum(1 for _ in rows) == count
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300_000
