"""Which texts a folder has, by the names of its files."""

import zipfile

import pytest
from support.own_folders import write

from tdo_plugin.errors import UserError
from tdo_plugin.start.folder_files import as_lines, files_of
from tdo_plugin.start.recognised_text import Selection
from tdo_plugin.start.recognition import recognise, trained_pairs

TMX = (
    '<tmx version="1.4"><body><tu><tuv xml:lang="{0}"><seg>a</seg></tuv>'
    '<tuv xml:lang="{1}"><seg>b</seg></tuv></tu></body></tmx>'
)


def tmx(*units):
    """A memory with a unit of these languages each."""
    variants = [
        "".join(f"<tuv lang='{code}'><seg>{code}</seg></tuv>" for code in unit) for unit in units
    ]
    body = "".join(f"<tu>{variant}</tu>" for variant in variants)
    return f"<tmx><body>{body}</body></tmx>"


ALL = Selection()


def look(tmp_path, wanted=ALL):
    files = files_of([tmp_path / "in"], tmp_path / "unpacked", tmp_path / "in" / "run")
    return recognise([tmp_path / "in"], files, wanted)


def listed(found):
    return {text.name: (text.split, " ".join(text.languages)) for text in found.texts}


def texts(names):
    return dict.fromkeys(names.split(), "a\n")


DE_EN = texts("a.de a.en")
CASES = {
    "fairseq's": (
        texts("train.de-en.de train.de-en.en test.de.gz test.en"),
        {"train.de-en": ("train", "de en"), "test": ("test", "de en")},
    ),
    "opus, unpacked": (
        texts("Books.de-en.de Books.de-en.en LICENSE README")
        | {"Books.de-en.ids": "1\n", "Books.de-en.xml": "<a/>"},
        {"Books.de-en": (None, "de en")},
    ),
    "opus-100": (
        texts("opus.af-en-dev.af opus.af-en-dev.en"),
        {"opus.af-en-dev": ("valid", "af en")},
    ),
    "mtdata, merged": (
        texts(
            "train.deu train.eng train.meta.gz dev.deu dev.eng train-parts/Stat-news-1-deu-eng.deu "
            "train-parts/Stat-news-1-deu-eng.eng tests/Stat-test-deu-eng.deu "
            "tests/Stat-test-deu-eng.eng"
        ),
        {
            "train": ("train", "deu eng"), "dev": ("valid", "deu eng"),
            "tests/Stat-test-deu-eng": ("test", "deu eng"),
        },
    ),
    "mtdata, in parts": (
        texts("train-parts/A-deu-eng.deu train-parts/A-deu-eng.eng"),
        {"train-parts/A-deu-eng": ("train", "deu eng")},
    ),
    "opusfilter": (
        texts("all.filtered.de.gz all.filtered.en.gz") | {"config.yaml": "steps: []"},
        {"all.filtered": (None, "de en")},
    ),
    "codes with a country": (texts("corpus.pt-BR corpus.en"), {"corpus": (None, "en pt_BR")}),
    "endings of text": (texts("dev/x.de.txt dev/x.en.txt"), {"dev/x": ("valid", "de en")}),
    "a table without a header": ({"de__en_tsv": "Hallo\tHello\n"}, {"de-en": (None, "de en")}),
    "a table that begins as with codes": ({"de__en_tsv": "so\tno\n"}, {"de-en": (None, "de en")}),
    "a table with a header": (
        {"train_tsv": "id\tde\ten\tfr\n1\ta\tb\tc\n"},
        {"train": ("train", "de en fr")},
    ),
    "a table in Indonesian": ({"train_tsv": "en\tid\na\tb\n"}, {"train": ("train", "en id")}),
    "a table with more than its pair in the name": (
        {"wmt__de__en_tsv": "Hallo\tHello\n"},
        {"wmt-de-en": (None, "de en")},
    ),
    "a translation memory": (
        {"memory_tmx": TMX.format("EN-US", "de")},
        {"memory": (None, "de en")},
    ),
    "a memory of several pairs": (
        {"memory_tmx": tmx(*[("en", "de-AT")] * 1001, ("fr", "en-GB"), ("de",))},
        {"memory.de-en": (None, "de en"), "memory.en-fr": (None, "en fr")},
    ),
    "a memory in two scripts": (
        {"memory_tmx": tmx(("sr-Latn", "en"), ("sr-cyrl", "en"))},
        {"memory.en-sr_Cyrl": (None, "en sr_Cyrl"), "memory.en-sr_Latn": (None, "en sr_Latn")},
    ),
    "a memory with scripts that codes imply": (
        {"memory_tmx": tmx(("zh-CN", "en"), ("zh-TW", "en"), ("sr", "en"), ("sr-Latn", "en"))},
        {f"memory.{pair}": (None, pair.replace("-", " ")) for pair in (
            "en-sr", "en-sr_Latn", "en-zh_CN", "en-zh_TW"
        )},
    ),
    "a memory with two variants in one of many units": (
        {"memory_tmx": tmx(*[("de", "en-US")] * 20, ("de", "en-US", "en-GB"))},
        {"memory": (None, "de en")},
    ),
    "a memory with what is no code": (
        {"memory_tmx": tmx(("de", "en"), ("de", "../../x"), ("*all*", "en"))},
        {"memory": (None, "de en")},
    ),
    "a memory of two variants": (
        {"memory_tmx": tmx(("pt-br", "pt-PT"))},
        {"memory": (None, "pt_BR pt_PT")},
    ),
    "a memory with more than its name says": (
        {"de__en_tmx": tmx(("de", "en"), ("de", "en-US", "en-GB"), ("en", "fr"))},
        {"de-en": (None, "de en")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_kinds_of_folders(case, tmp_path):
    files, expected = CASES[case]
    write(tmp_path / "in", **files)
    found = look(tmp_path)
    assert listed(found) == expected
    used = {path.name for text in found.texts for path in text.files.values()}
    for path in (tmp_path / "in").rglob("*"):  # nothing is dropped without a word
        name = path.relative_to(tmp_path / "in").as_posix()
        assert path.is_dir() or path.name in used or any(name.startswith(u) for u in found.unused)


def test_what_of_a_memory_is_not_used_is_listed(tmp_path):
    write(tmp_path / "in", **CASES["a memory of several pairs"][0])
    assert look(tmp_path).unused == {"1 units of memory.tmx": "with fewer than two languages"}
    write(tmp_path / "in", **CASES["a memory with more than its name says"][0])
    assert {
        "fr of de-en.tmx": "the pair is de-en",
        "further variants of en of de-en.tmx": "a unit has several, of which the first counts",
    }.items() <= look(tmp_path).unused.items()


def test_variants_that_are_apart_are_not_mixed(tmp_path):
    write(tmp_path / "in", m_tmx=tmx(("sr", "en"), ("sr-Latn", "en"), ("sr-Cyrl", "en")))
    found = {text.name: as_lines(text, tmp_path / "columns", {}) for text in look(tmp_path).texts}
    assert found["m.en-sr"].files["sr"].read_text() == "sr\n"
    assert found["m.en-sr_Latn"].files["sr_Latn"].read_text() == "sr-Latn\n"


def test_what_no_code_is_does_not_become_a_file(tmp_path):
    write(tmp_path / "in", m_tmx=tmx(("de", "en"), ("de", "../../x")))
    assert look(tmp_path).unused["the language ../../x of m.tmx"].startswith("that is no code")


def test_columns_without_a_language_are_listed_and_one_twice_is_refused(tmp_path):
    write(tmp_path / "in", train_tsv="de\ten\tpt-BR\tscore\na\tb\tc\t1\n")
    assert {"the column pt-BR of train.tsv", "the column score of train.tsv"} <= set(
        look(tmp_path).unused
    )
    for first in ("de\ten\tde", "DE\tEN"):
        write(tmp_path / "in", de__en_tsv=f"{first}\na\tb\tc\n")
        with pytest.raises(UserError, match=r"`de-en.tsv` must have"):
            look(tmp_path)


def test_a_chosen_pair_of_a_memory(tmp_path):
    write(tmp_path / "in", m_tmx=tmx(("en", "de"), ("en", "fr"), ("sr-Latn", "sr-Cyrl")))
    found = look(tmp_path, Selection(languages=("sr_Latn", "sr_Cyrl")))
    (text,) = [as_lines(text, tmp_path / "columns", {}) for text in found.texts]
    assert {code: path.read_text() for code, path in text.files.items()} == {
        "sr_Latn": "sr-Latn\n",
        "sr_Cyrl": "sr-Cyrl\n",
    }
    assert set(found.unused) == {"m.de-en", "m.en-fr"}


def test_rows_that_are_left_out_of_a_table_are_listed(tmp_path):
    write(tmp_path / "in", de__en_tsv="a\tb\nc\td\te\n")
    unused = {}
    (text,) = look(tmp_path).texts
    files = as_lines(text, tmp_path / "columns", unused).files
    assert [files[code].read_text() for code in ("de", "en")] == ["a\n", "b\n"]
    assert unused == {"1 rows of de-en": "with more columns than the first line"}


def test_what_mtdata_links(tmp_path):
    names = "tests/A-deu-eng.deu tests/A-deu-eng.eng train.deu train.eng"
    write(tmp_path / "in", **texts(names))
    for code in ("deu", "eng"):
        (tmp_path / "in" / f"dev.{code}").symlink_to(f"tests/A-deu-eng.{code}")
    found = look(tmp_path)
    assert listed(found) == {"dev": ("valid", "deu eng"), "train": ("train", "deu eng")}
    assert found.unused == {"tests/A-deu-eng": "a part of dev"}


def test_an_archive_of_opus(tmp_path):
    (tmp_path / "in").mkdir()
    with zipfile.ZipFile(tmp_path / "in" / "de-en.txt.zip", "w") as archive:
        for name in ("Books.de-en.de", "Books.de-en.en", "README", "../Books.de-en.fr"):
            archive.writestr(name, "a\n")
    found = look(tmp_path)
    assert listed(found) == {"de-en.txt.zip/Books.de-en": (None, "de en")}
    assert {"de-en.txt.zip/README", "de-en.txt.zip/../Books.de-en.fr (left out)"} == set(
        found.unused
    )
    assert not (tmp_path / "unpacked" / "Books.de-en.fr").exists()


def test_tables_become_lines(tmp_path):
    write(tmp_path / "in", train_tsv="de\ten\tfr\na\tb\tc\n", valid__de__en_tsv="a\tb\n\tc\n")
    texts = [as_lines(text, tmp_path / "columns", {}) for text in look(tmp_path).texts]
    content = {
        (text.name, language): path.read_text()
        for text in texts for language, path in text.files.items()
    }  # fmt: skip
    assert content == {
        ("train", "de"): "a\n", ("train", "en"): "b\n", ("train", "fr"): "c\n",
        ("valid-de-en", "de"): "a\n\n", ("valid-de-en", "en"): "b\nc\n",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "first", "wanted"),
    [
        ("x_tsv", "German\tEnglish\tid", ALL),
        ("x_tsv", "Deutsch\tenglish", ALL),
        ("x__de__en_tsv", "german\tEnglish", ALL),
        ("x__de__en_tsv", "source\ttarget", ALL),
        ("x_tsv", "src\tscore\ttrg", Selection(pairs=("de-en",))),
    ],
)
def test_a_header_is_recognised(name, first, wanted, tmp_path):
    cells = {"score": "0.5", "id": "7"}
    row = "\t".join(
        cells.get(title, f"{'ac'[title[0] not in 'Dgs' and title != 'German']}b")
        for title in first.split("\t")
    )
    write(tmp_path / "in", **{name: f"{first}\n{row}\n"})
    (text,) = look(tmp_path, wanted).texts
    lines = as_lines(text, tmp_path / "columns", {}).files
    assert {language: path.read_text() for language, path in lines.items()} == {
        "de": "ab\n", "en": "cb\n",
    }  # fmt: skip


def test_files_instead_of_folders(tmp_path):
    write(tmp_path / "in", **texts("a.de a.en"))
    write(tmp_path / "far" / "b", **DE_EN)
    places = [tmp_path / "in" / "a.de", tmp_path / "in" / "a.en", tmp_path / "far" / "b"]
    found = recognise(places, files_of(places, tmp_path / "unpacked", tmp_path / "run"), ALL)
    assert listed(found) == {"a": (None, "de en"), "b/a": (None, "de en")} and not found.unused


def test_sides_without_a_language(tmp_path, refused):
    write(tmp_path / "in", train_src="a\n", train_tgt="b\n")
    with refused.raised("sides without a language", names="--pairs"):
        look(tmp_path)
    (text,) = look(tmp_path, Selection(pairs=("de-en",))).texts
    assert {language: path.name for language, path in text.files.items()} == {
        "de": "train.src", "en": "train.tgt",
    }  # fmt: skip


def test_sides_with_the_languages_of_each_line_beside_them(tmp_path):
    write(tmp_path / "in", train_src="a\n", train_trg="b\n", train_id="deu\teng\n")
    found = look(tmp_path, Selection(pairs=("de-en",)))
    assert listed(found) == {"train": ("train", "de en")}
    assert found.unused == {"train.id": "neither of the sides that lie beside it"}


def test_what_is_not_in_corpora_need_not_be_understood(tmp_path, refused):
    write(tmp_path / "in", **texts("a.de a.en old.src"), meta_tsv="id\turl\tname\n")
    with refused.raised("a table that is not understood", names="--corpora"):
        look(tmp_path)
    found = look(tmp_path, Selection(corpora=("a",)))
    assert listed(found) == {"a": (None, "de en")}
    assert found.unused == {
        "meta": "not in `--corpora`",
        "old.src": "no file of another language beside it",
    }


def test_links_to_folders_are_followed_and_other_runs_left_out(tmp_path):
    write(tmp_path / "far", **DE_EN)
    earlier = texts("earlier/split/b.de earlier/split/b.en")
    write(tmp_path / "in", **earlier, earlier___shares_json="{}")
    (tmp_path / "in" / "near").symlink_to(tmp_path / "far")
    (tmp_path / "in" / "again").symlink_to(tmp_path / "in")
    found = look(tmp_path)
    assert listed(found) == {"near/a": (None, "de en")} and not found.unused


def test_some_of_it(tmp_path):
    four = "train.cs train.de train.en train.fr"
    write(tmp_path / "in", **texts(f"{four} old.de old.en alone.sv"))
    wanted = Selection(("cs", "de", "en"), ("en-*",), ("tr*",))
    found = look(tmp_path, wanted)
    assert listed(found) == {"train": ("train", "cs de en")}
    assert trained_pairs(found, wanted) == [("cs", "en"), ("de", "en")]
    assert found.unused["old"] == "not in `--corpora`"
    assert found.unused["alone.sv"] == "no file of another language beside it"


@pytest.mark.parametrize(
    ("case", "files", "wanted", "names"),
    [
        ("no text", {"notes_md": "a"}, ALL, "parallel text"),
        ("test alone", texts("test.de test.en"), ALL, "text to train on"),
        (
            *("two test sets", texts("train.de train.en test1.de test1.en test2.de test2.en")),
            *(ALL, "--corpora"),
        ),
        (
            *("before and after a filter", texts("all.de all.en all.clean.de all.clean.en")),
            *(ALL, "--corpora all.clean"),
        ),
        ("plain and gzip", texts("a.de a.en a.de.gz"), ALL, "a text once"),
        (
            "a table and a memory",
            {"a__de__en_tsv": "a\tb\n", "a__de__en_tmx": TMX.format("de", "en")},
            *(ALL, "a-de-en.tmx and a-de-en.tsv"),
        ),
        ("a name that may mean two pairs", {"pt__br__en_tsv": "a\tb\n"}, ALL, "--pairs"),
        (
            *("a language that is not there", texts("a.de a.en a.fr")),
            *(Selection(languages=("de", "en", "rf")), "rf"),
        ),
        ("a pair that is not there", DE_EN, Selection(pairs=("de-fr",)), "--pairs"),
        ("a text that is not there", DE_EN, Selection(corpora=("b",)), "--corpora"),
        ("unknown columns", {"x_tsv": "Hallo\tHello\t0.3\n"}, ALL, "two columns"),
        ("an unknown pair", {"x_tsv": "Hallo\tHello\n"}, ALL, "--pairs"),
        ("no folder", None, ALL, "TEXT"),
        ("a backup or Bashkir", texts("a.de a.en a.bak"), ALL, "Bashkir"),
    ],
)
def test_refused(case, files, wanted, names, tmp_path, refused):
    if files:
        write(tmp_path / "in", **files)
    with refused.raised(case, names):
        trained_pairs(look(tmp_path, wanted), wanted)
