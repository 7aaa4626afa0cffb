"""Which texts a folder has, by the names of its files."""

import zipfile

import pytest
from support.own_folders import write

from tdo_plugin.start.folder_files import as_lines, files_of
from tdo_plugin.start.recognised_text import Selection
from tdo_plugin.start.recognition import recognise, trained_pairs

TMX = (
    '<tmx version="1.4"><body><tu><tuv xml:lang="{0}"><seg>a</seg></tuv>'
    '<tuv xml:lang="{1}"><seg>b</seg></tuv></tu></body></tmx>'
)


ALL = Selection()


def look(tmp_path, wanted=ALL):
    files = files_of(tmp_path / "in", tmp_path / "unpacked", tmp_path / "in" / "run")
    return recognise(tmp_path / "in", files, wanted)


def listed(found):
    return {text.name: (text.split, " ".join(text.languages)) for text in found.texts}


CASES = {
    "fairseq's": (
        {"train_de__en_de": "a\n", "train_de__en_en": "a\n", "test_de_gz": "a\n", "test_en": "a\n"},
        {"train.de-en": ("train", "de en"), "test": ("test", "de en")},
    ),
    "opus, unpacked": (
        {
            "Books_de__en_de": "a\n", "Books_de__en_en": "a\n", "Books_de__en_ids": "1\n",
            "Books_de__en_xml": "<a/>", "README": "b", "LICENSE": "c",
        },
        {"Books.de-en": (None, "de en")},
    ),
    "opus-100": (
        {"opus_af__en__dev_af": "a\n", "opus_af__en__dev_en": "a\n"},
        {"opus.af-en-dev": ("valid", "af en")},
    ),
    "mtdata, merged": (
        {
            "train_deu": "a\n", "train_eng": "a\n", "train_meta_gz": "x\n", "dev_deu": "a\n",
            "dev_eng": "a\n", "train__parts___Stat__news__1__deu__eng_deu": "a\n",
            "train__parts___Stat__news__1__deu__eng_eng": "a\n",
            "tests___Stat__test__deu__eng_deu": "a\n", "tests___Stat__test__deu__eng_eng": "a\n",
        },
        {
            "train": ("train", "deu eng"), "dev": ("valid", "deu eng"),
            "tests/Stat-test-deu-eng": ("test", "deu eng"),
        },
    ),
    "mtdata, in parts": (
        {"train__parts___A__deu__eng_deu": "a\n", "train__parts___A__deu__eng_eng": "a\n"},
        {"train-parts/A-deu-eng": ("train", "deu eng")},
    ),
    "opusfilter": (
        {"all_filtered_de_gz": "a\n", "all_filtered_en_gz": "a\n", "config_yaml": "steps: []"},
        {"all.filtered": (None, "de en")},
    ),
    "codes with a country": (
        {"corpus_pt__BR": "a\n", "corpus_en": "a\n"},
        {"corpus": (None, "en pt_BR")},
    ),
    "endings of text": (
        {"dev___x_de_txt": "a\n", "dev___x_en_txt": "a\n"},
        {"dev/x": ("valid", "de en")},
    ),
    "a table without a header": ({"de__en_tsv": "Hallo\tHello\n"}, {"de-en": (None, "de en")}),
    "a table that begins with a word like a code": (
        {"de__en_tsv": "so\tno\n"},
        {"de-en": (None, "de en")},
    ),
    "a table with a header": (
        {"train_tsv": "id\tde\ten\tfr\n1\ta\tb\tc\n"},
        {"train": ("train", "de en fr")},
    ),
    "a table in Indonesian": (
        {"train_tsv": "en\tid\na\tb\n"},
        {"train": ("train", "en id")},
    ),
    "a table with more than its pair in the name": (
        {"wmt__de__en_tsv": "Hallo\tHello\n"},
        {"wmt-de-en": (None, "de en")},
    ),
    "a translation memory": (
        {"memory_tmx": TMX.format("EN-US", "de")},
        {"memory": (None, "de en")},
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


def test_what_mtdata_links(tmp_path):
    parts = {f"tests___A__deu__eng_{code}": "a\n" for code in ("deu", "eng")}
    write(tmp_path / "in", **parts, train_deu="a\n", train_eng="a\n")
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
    assert {"de-en.txt.zip/README", "de-en.txt.zip/../Books.de-en.fr"} == set(found.unused)
    assert not (tmp_path / "unpacked" / "Books.de-en.fr").exists()


def test_tables_become_lines(tmp_path):
    write(tmp_path / "in", train_tsv="de\ten\tfr\na\tb\tc\n", valid__de__en_tsv="a\tb\n\tc\n")
    texts = [as_lines(text, tmp_path / "columns") for text in look(tmp_path).texts]
    content = {
        (text.name, language): path.read_text()
        for text in texts for language, path in text.files.items()
    }  # fmt: skip
    assert content == {
        ("train", "de"): "a\n", ("train", "en"): "b\n", ("train", "fr"): "c\n",
        ("valid-de-en", "de"): "a\n\n", ("valid-de-en", "en"): "b\nc\n",
    }  # fmt: skip


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
    write(tmp_path / "in", a_de="a\n", a_en="a\n", meta_tsv="id\turl\tname\n", old_src="a\n")
    with refused.raised("a table that is not understood", names="--corpora"):
        look(tmp_path)
    found = look(tmp_path, Selection(corpora=("a",)))
    assert listed(found) == {"a": (None, "de en")}
    assert found.unused == {
        "meta": "not in `--corpora`",
        "old.src": "no file of another language beside it",
    }


def test_links_to_folders_are_followed_and_other_runs_left_out(tmp_path):
    write(tmp_path / "far", a_de="a\n", a_en="a\n")
    write(tmp_path / "in", earlier___shares_json="{}", earlier___split___b_de="a\n")
    write(tmp_path / "in", earlier___split___b_en="a\n")
    (tmp_path / "in" / "near").symlink_to(tmp_path / "far")
    (tmp_path / "in" / "again").symlink_to(tmp_path / "in")
    found = look(tmp_path)
    assert listed(found) == {"near/a": (None, "de en")} and not found.unused


def test_some_of_it(tmp_path):
    four = {f"train_{code}": "a\n" for code in ("cs", "de", "en", "fr")}
    write(tmp_path / "in", **four, old_de="a\n", old_en="a\n", alone_sv="a\n")
    wanted = Selection(("cs", "de", "en"), ("en-*",), ("tr*",))
    found = look(tmp_path, wanted)
    assert listed(found) == {"train": ("train", "cs de en")}
    assert trained_pairs(found, wanted) == [("cs", "en"), ("de", "en")]
    assert found.unused["old"] == "not in `--corpora`"
    assert found.unused["alone.sv"] == "no file of another language beside it"


DE_EN = {"a_de": "a\n", "a_en": "a\n"}


def several(*names: str) -> dict[str, str]:
    return {f"{name}_{code}": "a\n" for name in names for code in ("de", "en")}


@pytest.mark.parametrize(
    ("case", "files", "wanted", "names"),
    [
        ("no text", {"notes_md": "a"}, ALL, "parallel text"),
        ("test alone", several("test"), ALL, "text to train on"),
        ("two test sets", several("train", "test1", "test2"), ALL, "--corpora"),
        ("before and after a filter", several("all", "all_clean"), ALL, "--corpora all.clean"),
        ("plain and gzip", {**DE_EN, "a_de_gz": "a\n"}, ALL, "a text once"),
        (
            "a table and a memory",
            {"a__de__en_tsv": "a\tb\n", "a__de__en_tmx": TMX.format("de", "en")},
            *(ALL, "a-de-en.tmx and a-de-en.tsv"),
        ),
        ("a name that may mean two pairs", {"pt__br__en_tsv": "a\tb\n"}, ALL, "--pairs"),
        (
            *("a language that is not there", {**DE_EN, "a_fr": "a\n"}),
            *(Selection(languages=("de", "en", "rf")), "rf"),
        ),
        ("a pair that is not there", DE_EN, Selection(pairs=("de-fr",)), "--pairs"),
        ("a text that is not there", DE_EN, Selection(corpora=("b",)), "--corpora"),
        ("unknown columns", {"x_tsv": "Hallo\tHello\t0.3\n"}, ALL, "two columns"),
        ("an unknown pair", {"x_tsv": "Hallo\tHello\n"}, ALL, "--pairs"),
        ("no folder", None, ALL, "FOLDER"),
    ],
)
def test_refused(case, files, wanted, names, tmp_path, refused):
    if files:
        write(tmp_path / "in", **files)
    with refused.raised(case, names):
        trained_pairs(look(tmp_path, wanted), wanted)
