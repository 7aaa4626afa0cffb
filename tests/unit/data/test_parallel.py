"""Lines that a data folder has in several languages, through the hub or in files of all."""

import re
from pathlib import Path

import pytest

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.parallel import parallel_lines, within
from tdo_plugin.errors import UserError

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
    assert parallel_lines(data, "test") == {
        **{"de": ["A", "A", "B"], "fr": ["x", "x", "y"]},
        "it": ["1", "2", "3"],
    }
    assert parallel_lines(data, "test", ["it", "de"]) == {"it": ["1", "2", "3"], "de": [*"AAB"]}
    # the hub has no such file
    assert parallel_lines(data, "test", ["en", "fr"])["fr"] == ["z", "x", "y", "w"]


def test_no_line_is_too_long_in_any_language():
    lines = {"de": ["a b", "a", "a b c", "a"], "fr": ["x", "x y", "x", "x y z"]}
    assert within(lines, 2, None) == {"de": ["a b", "a"], "fr": ["x", "x y"]}
    assert within(lines, 3, 3) == {"de": lines["de"][:3], "fr": lines["fr"][:3]}
    assert within(lines, 0, None) == {"de": [], "fr": []}


@pytest.mark.parametrize(
    ("languages", "message"),
    [
        (["de", "es"], "`--languages` must be two or more of en, de, fr, it, each once; it has es"),
        (["de"], "`--languages` must be two or more of en, .*; it is de"),
        (["de", "de"], "`--languages` must be two or more .*; it is de,de"),
        (["de", "it"], "`--data` must have a segmented test set of en with it; .*pieces "),
    ],
)
def test_languages_that_are_refused(tmp_path, languages, message):
    with pytest.raises(UserError, match=message):
        parallel_lines(folder(tmp_path, HUB), "test", languages)


def test_folders_that_are_refused(tmp_path):
    for number, (texts, directions, message) in enumerate(
        [
            ({}, PAIRS, "`--data` must have a segmented test set of en with de; .*pieces has none"),
            (
                HUB,
                (*PAIRS, "de-fr"),
                "`--data` must have pieces/test.LANGUAGE for all ",
            ),
            (
                {**HUB, "test.en-de.en": "p q r s t"},
                PAIRS,
                "`--languages` must have test sets that share lines in en; de, fr share",
            ),
            (
                {**HUB, "test.en-de.de": "A B"},
                PAIRS,
                "test.en-de.de` must have as many lines as test.en-de.en, 5; it has 2",
            ),
            (
                {"test.de": "a b", "test.fr": "x y", "test.it": "1"},
                PAIRS,
                "test.it` must have as many lines as test.de, 2; it has 1",
            ),
        ]
    ):
        root = tmp_path / str(number)
        root.mkdir()
        with pytest.raises(UserError) as caught:
            parallel_lines(folder(root, texts, directions), "test")
        assert re.search(message, str(caught.value)), caught.value
