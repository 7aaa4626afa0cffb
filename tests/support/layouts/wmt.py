"""WMT 2016 English-Romanian and WMT 2019 Chinese-English: SGML, TMX, tables, CWMT's zips."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from support.layouts.case import MOSES, Case
from support.layouts.packing import numbered, put, sides, tar, text, zip_archive, zipped
from support.layouts.sentences import disguised, rows, sentence, spaced, with_side

from tdo_plugin.corpora.description import Corpus

STATMT = "data.statmt.org"
HUB = "huggingface.co/datasets/wmt"
SETS = {  # of dev.tgz: the first number and the number of sentences
    "newsdev2016-roen": (50000, 20),
    "newsdev2016-enro": (53000, 20),
    "newstest2016-roen": (51000, 16),
    "newstest2016-enro": (54000, 16),
    "newstest2017-zhen": (55000, 15),
    "newstest2018-zhen": (56000, 18),
    "newstest2018-enzh": (57000, 18),
}


def write_sets(web: Path) -> None:
    """The archive of all years' sets under its address."""
    members = {}
    for name, (first, size) in SETS.items():
        source, target = name[-4:-2], name[-2:]
        for kind, language in (("src", source), ("ref", target)):
            numbers = range(first, first + size)
            members[f"dev/{name}-{kind}.{language}.sgm"] = _sgml(name, kind, language, numbers)
    put(web, f"{STATMT}/wmt19/translation-task/dev.tgz", tar(members))


def _sgml(name: str, kind: str, language: str, numbers: range) -> bytes:
    lines = [f'<{kind}set setid="{name[:-5]}" srclang="any" trglang="{language}">']
    lines += ['<DOC sysid="ref" docid="paper.1" genre="news" origlang="ro">', "<hl>"]
    for place, number in enumerate(numbers):
        line = sentence(language, number)
        if place == 3:
            line = f"A &amp; B {line}"
        if place == 4:
            line = f"A & B {line}"  # not well-formed, and so in some files
        lines.append(f'<seg id="{place + 1}">{line}</seg>')
        lines += ["</hl>", "<p>"] if place == 0 else []
    return text([*lines, "</p>", "</DOC>", f"</{kind}set>"])


# --- English and Romanian --------------------------------------------------------------------

EUROPARL, SETIMES = 0, 10000
SETIMES_ROWS = 120


def write_ro(web: Path) -> None:
    """With SETIMES in OPUS' zip."""
    write_europarl(web)
    members = sides("SETIMES.en-ro", "en-ro", _setimes())
    members |= {"README": b"SETIMES\n", "SETIMES.en-ro.ids": b"a\tb\t1\t1\n"}
    put(web, "object.pouta.csc.fi/OPUS-SETIMES/v2/moses/en-ro.txt.zip", zip_archive(members))


def write_ro_tmx(web: Path) -> Mapping[str, Path]:
    """With SETIMES as a translation memory that has no address."""
    write_europarl(web)
    path = web.parent / "SETIMES-v2.en-ro.tmx.gz"
    path.write_bytes(zipped(text(_tmx())))
    return {path.name: path}


def write_europarl(web: Path) -> None:
    """Europarl v8, with Finnish beside Romanian, and the sets."""
    write_sets(web)
    pairs = rows("ro-en", range(EUROPARL, EUROPARL + 150))
    pairs[10] = (pairs[10][0], "")
    pairs[11] = with_side(pairs[11], 1, disguised(sentence("en", 50002)))
    folder = "training-parallel-ep-v8/europarl-v8"
    members = sides(f"{folder}.ro-en", "ro-en", pairs)
    members |= sides(f"{folder}.fi-en", "fi-en", rows("fi-en", range(5)))
    put(web, f"{STATMT}/wmt16/translation-task/training-parallel-ep-v8.tgz", tar(members))


def _setimes() -> list[tuple[str, str]]:
    pairs = rows("en-ro", range(SETIMES, SETIMES + SETIMES_ROWS))
    pairs[5] = with_side(pairs[5], 0, sentence("en", 51001))
    return pairs


def _tmx() -> Iterable[str]:
    yield '<?xml version="1.0" encoding="UTF-8" ?>'
    yield '<tmx version="1.4">'
    yield '<header creationdate="Mon Oct 3 2011" srclang="en" adminlang="en" segtype="sentence"/>'
    yield "<body>"
    for place, (english, romanian) in enumerate(_setimes()):
        variants = [("en", english), ("ro", romanian)]
        if place == 7:
            variants = variants[:1]
        if place == 8:
            variants = variants[::-1]
        if place == 9:
            variants = [(code, f"R&amp;D\n{line}") for code, line in variants]
        yield "<tu>"
        for code, line in variants:
            yield f'  <tuv xml:lang="{code}"><seg>{line}</seg></tuv>'
        yield "</tu>"
    yield "</body></tmx>"


EN_RO = Case(
    "wmt16-en-ro",
    write_ro,
    "en ro",
    # without an empty row and the two that are in valid and test
    {"train en-ro": 150 - 2 + SETIMES_ROWS - 1, "valid en-ro": 20, "test en-ro": 16},
    taken={"train en-ro": {"empty": 1, "held-out": 2}},
    text={
        ("train.en-ro.en", 0): spaced("en", 0),
        ("train.en-ro.ro", 148): spaced("ro", SETIMES),
        ("valid.en-ro.en", 3): f"A &amp; B {spaced('en', 50003)}",
        ("valid.en-ro.ro", 4): f"A &amp; B {spaced('ro', 50004)}",
        ("test.en-ro.ro", 15): spaced("ro", 51015),
    },
    form=MOSES,
)
EN_RO_TMX = replace(
    EN_RO,
    variant="tmx",
    write=write_ro_tmx,
    rows=EN_RO.rows | {"train en-ro": 150 - 2 + SETIMES_ROWS - 2},  # one unit has no Romanian
    text={
        ("train.en-ro.ro", 154): spaced("ro", SETIMES + 8),
        ("train.en-ro.en", 155): f"R &amp; D {spaced('en', SETIMES + 9)}",
    },
)

# --- Chinese and English ---------------------------------------------------------------------

UN, COMMENTARY, TITLES, CRAWL = 0, 10000, 20000, 70000
CWMT = {  # the texts of each zip, with the ending of their Chinese
    "casia2015": (["casia2015"], "ch"),
    "casict2011": (["casict-A", "casict-B"], "ch"),
    "casict2015": (["casict2015"], "ch"),
    "datum2015": (["datum"], "cn"),
    "datum2017": (["Book1", "Book10", "Book2"], "cn"),
    "neu2017": (["NEU"], "cn"),
}
CWMT_ROWS = 20


def write_zh(web: Path) -> None:
    """With the English News crawl."""
    write_zh_parallel(web)
    address = f"{STATMT}/news-crawl/en/news.2019.en.shuffled.deduped.gz"
    put(web, address, zipped(numbered("en", range(CRAWL, CRAWL + 80))))


def write_zh_parallel(web: Path) -> None:
    """Parallel text without CWMT."""
    write_sets(web)
    united = rows("en-zh", range(UN, UN + 120))
    united[10] = ("", united[10][1])
    united[11] = with_side(united[11], 1, sentence("zh", 56002))
    members = sides("en-zh/UNv1.0.en-zh", "en-zh", united)
    address = "storage.googleapis.com/tfds-data/downloads/uncorpus/UNv1.0.en-zh.tar.gz"
    put(web, address, tar(members))
    commentary = ["\t".join(row) for row in rows("en-zh", range(COMMENTARY, COMMENTARY + 80))]
    commentary[20] = commentary[40] = "\t"  # between articles
    commentary[41] = f"{sentence('en', COMMENTARY + 41)}\t"
    address = f"{STATMT}/news-commentary/v14/training/news-commentary-v14.en-zh.tsv.gz"
    put(web, address, zipped(text(commentary)))
    titles = rows("zh-en", range(TITLES, TITLES + 60))
    titles[3] = with_side(titles[3], 1, sentence("en", 55001))
    content = zipped(text("\t".join(row) for row in titles))
    put(web, f"{HUB}/wikititles/resolve/main/v1/wikititles-v1.zh-en.tsv.gz", content)


def write_zh_all(web: Path) -> None:
    """With CWMT and the News crawl."""
    write_zh(web)
    first = 30000
    for name, (parts, ending) in CWMT.items():
        members = {}
        for part in parts:
            numbers = range(first, first + CWMT_ROWS)
            members[f"{name}/{part}_{ending}.txt"] = numbered("zh", numbers)
            members[f"{name}/{part}_en.txt"] = numbered("en", numbers)
            first += 1000
        content = zip_archive(dict(sorted(members.items())))
        put(web, f"{HUB}/wmt18/resolve/main/cwmt-wmt/{name}.zip", content)


def fifty(corpus: Corpus) -> Corpus:
    """5,000,000 sentences of English alone become 50."""
    return replace(corpus, monolingual=tuple(replace(each, rows=50) for each in corpus.monolingual))


# two rows of the United Nations go, three of News Commentary, one title
ZH_ROWS = 118 + 77 + 59
ZH_EN = Case(
    "wmt19-zh-en",
    write_zh,
    "zh en",
    {"train zh-en": ZH_ROWS, "valid zh-en": 15, "test zh-en": 18},
    small=fifty,
    taken={"train zh-en": {"empty": 4, "held-out": 2}},
    text={
        ("train.zh-en.en", 0): spaced("en", UN),
        ("train.zh-en.en", 118): spaced("en", COMMENTARY),
        ("train.zh-en.zh", 118 + 77): spaced("zh", TITLES),
        ("valid.zh-en.en", 0): spaced("en", 55000),
        ("test.zh-en.en", 17): spaced("en", 56017),
    },
    form=MOSES,
)
ZH_EN_PARALLEL = replace(ZH_EN, variant="parallel", write=write_zh_parallel)
ZH_EN_ALL = replace(
    ZH_EN,
    variant="all",
    write=write_zh_all,
    rows=ZH_EN.rows | {"train zh-en": ZH_ROWS + 9 * CWMT_ROWS},
    text={
        ("train.zh-en.en", ZH_ROWS + 20): spaced("en", 31000),  # casict2011's first
        ("train.zh-en.en", ZH_ROWS + 179): spaced("en", 38019),
    },
)
CASES = (EN_RO, EN_RO_TMX, ZH_EN, ZH_EN_PARALLEL, ZH_EN_ALL)
