"""Naming directions of a data folder."""

from pathlib import Path

from tdo_plugin.data.databin import DataFolder, matching

TESTS = ("en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de")
DATA = DataFolder(Path("/d"), ("en", "de", "fr"), TESTS[:4], TESTS)


def test_patterns_keep_the_order_of_what_they_choose_from():
    assert matching("*", TESTS) == TESTS
    assert matching("fr-*, en-de", TESTS) == ("en-de", "fr-en", "fr-de")
    assert matching("en", TESTS) == ()


def test_test_directions_by_word_list_or_pattern(refused):
    assert DATA.select("all") == TESTS
    assert DATA.select("zero-shot") == ("de-fr", "fr-de")
    assert DATA.select("fr-de, en-de") == ("fr-de", "en-de")  # a list is in its own order
    assert DATA.select("fr-de,*-de") == ("fr-de", "en-de")
    for wrong in ("en-xx", "xx-*", "en-de,"):
        with refused.raised(wrong, names="--pairs"):
            DATA.select(wrong, "--pairs")
