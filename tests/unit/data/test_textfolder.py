"""What a text folder holds, and what is wrong with it."""

from pathlib import Path

import pytest

from tdo_plugin.data.textfolder import count_lines, line_starts, read_lines, read_text_folder
from tdo_plugin.errors import UserError


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """en-de and en-fr with a parallel test set, and a test set of its own for fr-de."""
    for target in ("de", "fr"):
        for language in ("en", target):
            for split in ("train", "valid"):
                (tmp_path / f"{split}.en-{target}.{language}").write_text("a b\nc d\n")
    for language in ("en", "de", "fr"):
        (tmp_path / f"test.{language}").write_text("a\nb\nc\n")
    for language in ("fr", "de"):
        (tmp_path / f"test.fr-de.{language}").write_text("a\n")
    (tmp_path / "README").write_text("not text to train on")
    return tmp_path


def test_languages_pairs_and_tests_are_found(text: Path) -> None:
    folder = read_text_folder(text)
    assert folder.languages == ("en", "de", "fr")
    assert folder.pairs == (("en", "de"), ("en", "fr"))
    assert list(folder.directions()) == [("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en")]
    # a pair's own test set comes before the parallel one
    assert list(folder.test_pairs()) == [
        (("fr", "de"), "test.fr-de"),
        (("en", "de"), "test"),
        (("en", "fr"), "test"),
    ]
    assert read_text_folder(text, ["fr", "en", "de"]).languages == ("fr", "en", "de")


def test_the_files_of_some_pairs_alone(text: Path) -> None:
    for name in ("valid.fr-de.fr", "valid.fr-de.de"):
        (text / name).write_text("e\n")
    german = read_text_folder(text, wanted=["de-en"])
    assert (german.languages, german.pairs) == (("en", "de"), (("en", "de"),))
    assert [pair for pair, _ in german.valids()] == [("en", "de")]
    assert list(german.test_pairs()) == [(("en", "de"), "test")]
    assert german.unused() == ["test.fr"]
    both = read_text_folder(text, wanted=["en-fr", "en-de"])
    assert both.pairs == (("en", "de"), ("en", "fr"))
    assert [prefix for _, prefix in both.test_pairs()] == ["test"] * 3
    assert not both.unused()
    every = read_text_folder(text, wanted=["en-fr", "en-de", "de-fr"])
    assert every == read_text_folder(text)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["en-de", "tr-en", "de"], "`--pairs` must be among en-de, en-fr, fr-de; it has tr-en, de"),
        ([""], "`--pairs` must be among en-de, en-fr, fr-de; it has "),
        (["de-fr"], "`--pairs` must have training text; it is de-fr"),
    ],
)
def test_pairs_that_are_not_there_are_refused(text: Path, wanted: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_text_folder(text, wanted=wanted)


def test_validation_text(text: Path) -> None:
    plain = read_text_folder(text)
    trained = {pair: plain.sides("valid", pair) for pair in plain.pairs}
    assert dict(plain.valids()) == trained
    # a trained pair named the other way round is not another pair
    for name in ("valid.en", "valid.de", "valid.fr", "valid.de-en.de", "valid.de-en.en"):
        (text / name).write_text("e\nf\n")
    parallel = read_text_folder(text)
    files = (text / "valid.de", text / "valid.fr")
    assert dict(parallel.valids()) == trained | {("de", "fr"): files}
    assert [*parallel.files()] == [*plain.files(), text / "valid.en", *files]
    # a pair's own set comes before the parallel one
    for language in ("fr", "de"):
        (text / f"valid.fr-de.{language}").write_text("e\n")
    pair_files = (text / "valid.fr-de.fr", text / "valid.fr-de.de")
    assert dict(read_text_folder(text).valids()) == trained | {("fr", "de"): pair_files}


def test_a_trained_pair_may_lack_its_own_validation_text(text: Path) -> None:
    for language in ("en", "de"):
        (text / f"valid.en-de.{language}").rename(text / f"valid.de-en.{language}")
    turned = (text / "valid.de-en.de", text / "valid.de-en.en")
    french = (text / "valid.en-fr.en", text / "valid.en-fr.fr")
    assert dict(read_text_folder(text).valids()) == {("de", "en"): turned, ("en", "fr"): french}
    for path in (*turned, *french):
        path.unlink()
    assert not [*read_text_folder(text).valids()]
    for language in ("de", "en"):
        (text / f"valid.{language}").write_text("e\n")
    folder = read_text_folder(text, ["de", "en", "fr"])
    assert dict(folder.valids()) == {("en", "de"): (text / "valid.en", text / "valid.de")}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("valid.de-fr.de", "a\n", r"`TEXT` must have valid\.de-fr\.fr"),
        ("valid.en-de.de", None, r"`TEXT` must have valid\.en-de\.de"),
        ("train.en-de.de", "one line\n", r"as many lines as train.en-de.en \(2\); it has 1"),
        ("test.fr", "one line\n", r"`test\.fr` must have as many lines as test\.de \(3\)"),
        ("test.fr", "a\n \u3000\nc\n", r"`test\.fr` line 2 must have text; it is empty"),
        ("test.fr-de.fr", "\n", r"`test\.fr-de\.fr` line 1 must have text; it is empty"),
    ],
)
def test_what_does_not_fit_is_refused(
    text: Path, file: str, content: str | None, message: str
) -> None:
    if content is None:
        (text / file).unlink()
    else:
        (text / file).write_text(content)
    with pytest.raises(UserError, match=message):
        read_text_folder(text)


def test_empty_folders_and_unknown_languages_are_refused(text: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="must name each of en, de, fr once; it is en,tr"):
        read_text_folder(text, ["en", "tr"])
    with pytest.raises(UserError, match="must be a folder"):
        read_text_folder(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="has no such file"):
        read_text_folder(tmp_path / "empty")
    for language in ("en", "de"):
        (text / f"valid.en-de.{language}").write_text("")
    with pytest.raises(UserError, match="must have at least one line"):
        read_text_folder(text)


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("a\u2028b\r\nc\rd\nlast".encode())
    assert list(read_lines(path)) == ["a\u2028b", "c d", "last"]
    assert count_lines(path) == 3
    path.write_bytes(b"\xff\xfe\n")
    with pytest.raises(UserError, match="must be UTF-8"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("content", "lines"), [("a\n\ufeffb", ["a", "\ufeffb"]), ("\n", [""]), ("", [])]
)
def test_a_byte_order_mark_at_the_beginning_is_no_text(
    tmp_path: Path, content: str, lines: list[str]
) -> None:
    path = tmp_path / "text"
    path.write_text(content, encoding="utf-8-sig", newline="\n")
    assert path.read_bytes()[:3] == b"\xef\xbb\xbf"
    assert list(read_lines(path)) == lines
    assert count_lines(path) == len(lines)


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_reading_can_begin_where_a_line_begins(tmp_path: Path, every: int) -> None:
    path = tmp_path / "text"
    path.write_text("\ufeffein\nzwölf\n\ufeffdrei\r\n\nfünf", encoding="utf-8", newline="")
    lines = list(read_lines(path))
    starts = line_starts(path, every)
    assert [list(read_lines(path, start)) for start in starts] == [
        lines[number:] for number in range(0, len(lines), every)
    ]
    assert lines[2].startswith("\ufeff")  # only at the beginning it is no text
