"""Lines that a data folder has in several languages, through the hub or in files of all."""

from pathlib import Path

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.parallel import parallel_lines, within

PAIRS = ("en-de", "de-en", "en-fr", "fr-en", "en-it", "it-en")


def folder(root: Path, texts: dict[str, str], directions: tuple[str, ...] = PAIRS) -> DataFolder:
    (root / "pieces").mkdir()
    for name, lines in texts.items():
        text = "".join(f"{line}\n" for line in lines.split())
        (root / "pieces" / name).write_text(text, encoding="utf-8")
    return DataFolder(root, ("en", "de", "fr", "it"), directions, directions)


HUB = {
    "test.en-de.en": "a b c b d",
    "test.en-de.de": "A B C B2 D",
    "test.fr-en.en": "c x b d c",
    "test.fr-en.fr": "z x y w z2",
}


def test_through_the_hub_the_first_of_equal_lines_counts(tmp_path):
    data = folder(tmp_path, HUB)
    lines = parallel_lines(data, "test")
    assert list(lines) == ["en", "de", "fr"]  # it has no set
    assert lines == {"en": ["b", "c", "d"], "de": ["B", "C", "D"], "fr": ["y", "z", "w"]}
    # those that are asked for, in their order, the hub only where it is
    lines = parallel_lines(data, "test", ["fr", "de"])
    assert lines == {"fr": ["z", "y", "w"], "de": ["C", "B", "D"]}
    assert list(lines) == ["fr", "de"]
    assert parallel_lines(data, "test", ["en", "de"])["de"] == ["A", "B", "C", "D"]


def test_files_that_are_parallel_are_taken_as_they_are(tmp_path):
    files = {"test.de": "A A B", "test.fr": "x x y", "test.it": "1 2 3"}
    data = folder(tmp_path, {**HUB, **files})
    every = {"de": [*"AAB"], "fr": [*"xxy"], "it": [*"123"]}
    assert parallel_lines(data, "test") == every
    assert parallel_lines(data, "test", ["it", "de"]) == {"it": [*"123"], "de": [*"AAB"]}
    # the hub has no such file
    assert parallel_lines(data, "test", ["en", "fr"])["fr"] == ["z", "x", "y", "w"]


def test_no_line_is_too_long_in_any_language():
    lines = {"de": ["a b", "a", "a b c", "a"], "fr": ["x", "x y", "x", "x y z"]}
    assert within(lines, 2, None) == {"de": ["a b", "a"], "fr": ["x", "x y"]}
    assert within(lines, 3, 3) == {"de": lines["de"][:3], "fr": lines["fr"][:3]}
    assert within(lines, 0, None) == {"de": [], "fr": []}


def test_what_is_refused(refused, tmp_path):
    with_french = (*PAIRS, "de-fr")
    unlike = {"test.de": "a b", "test.fr": "x y", "test.it": "1"}
    for number, (texts, languages, names, directions) in enumerate(
        [
            (HUB, ["de", "es"], "it has es", PAIRS),
            (HUB, ["de"], "it is de", PAIRS),
            (HUB, ["de", "de"], "it is de,de", PAIRS),
            (HUB, ["de", "it"], "en with it", PAIRS),
            ({}, None, "en with de", PAIRS),
            (HUB, None, "pieces/test.LANGUAGE", with_french),
            ({**HUB, "test.en-de.en": "p q r s t"}, None, "share none", PAIRS),
            ({**HUB, "test.en-de.de": "A B"}, None, "test.en-de.de", PAIRS),
            (unlike, None, "test.it", PAIRS),
        ]
    ):
        (root := tmp_path / str(number)).mkdir()
        data = folder(root, texts, directions)
        with refused.raised(names, names=names):
            parallel_lines(data, "test", languages)
