"""Which directions are in which group, and what is said of a group."""

from itertools import permutations

import pytest

from tdo_plugin.corpora.description import load
from tdo_plugin.evaluation.groups import (
    family_groups,
    pearson,
    size_groups,
    standard_groups,
    user_groups,
    win_ratio,
)

ALL = ["-".join(pair) for pair in permutations(("de", "en", "fr"), 2)]
TRAINED = {"de-en", "en-de", "en-fr", "fr-en"}
FROM_HUB, INTO_HUB, OTHERS = ("en-de", "en-fr"), ("de-en", "fr-en"), ("de-fr", "fr-de")
BOTH = tuple(direction for direction in ALL if direction in TRAINED)

EUROPARL = "bg cs da de el en es et fi fr hu it lt lv nl pl pt ro sk sl sv"


def test_standard_groups_in_order():
    every, both_ways = {"all": tuple(ALL)}, {"en → X": FROM_HUB, "X → en": INTO_HUB}
    some, trained = (*FROM_HUB, *OTHERS), {"en → X": FROM_HUB, "X → en": ("de-en",)}
    trained |= {"supervised": ("de-en", "de-fr", "en-de", "en-fr"), "X → Y, trained": ("de-fr",)}
    split = {"supervised": OTHERS[:1], "zero-shot": OTHERS[1:], "all": OTHERS}
    for directions, supervised, hub, expected in (
        (ALL, TRAINED, "en", {**both_ways, "supervised": BOTH, "zero-shot": OTHERS, **every}),
        # a direction with the hub that was never trained on is zero-shot
        (
            *(ALL, TRAINED - {"fr-en"} | {"de-fr"}, "en"),
            {**trained, "zero-shot": ("fr-de", "fr-en"), **every},
        ),
        (ALL, set(ALL), None, {"supervised": tuple(ALL)}),
        (BOTH, TRAINED, "en", {**both_ways, "supervised": BOTH, "all": BOTH}),
        # what a group has already is not said again
        (some, TRAINED, "en", {"en → X": FROM_HUB, "zero-shot": OTHERS, "all": some}),
        (OTHERS, {"de-fr", "en-de"}, "en", split),
        (OTHERS, TRAINED, "en", {"zero-shot": OTHERS}),
        # nothing is known of the training: nothing is called zero-shot
        (ALL, None, "en", {**both_ways, "X → Y": OTHERS, **every}),
        ([], None, None, {}),
    ):
        groups = standard_groups(directions, supervised, hub)
        assert list(groups.items()) == list(expected.items())


def test_size_groups_have_the_papers_bounds():
    sizes = {"en-de": 900_000, frozenset(("fr", "en")): 899_999, "br-en": 100_000}
    sizes |= {"te-en": 99_999, "de-fr": 2_000_000}
    directions = ["en-te", "en-de", "fr-en", "en-fr", "br-en", "te-en", "en-zu", "de-fr"]
    expected = {
        "High: en → X": ("en-de",),
        "Medium: en → X": ("en-fr",),
        "Low: en → X": ("en-te",),
        "Medium: X → en": ("fr-en", "br-en"),
        "Low: X → en": ("te-en",),
    }
    assert list(size_groups(directions, sizes).items()) == list(expected.items())
    assert size_groups(directions, {"en-de": 20, "en-te": 10, "en-zu": 9}, bounds=(20, 10)) == {
        "High: en → X": ("en-de",),
        "Medium: en → X": ("en-te",),
        "Low: en → X": ("en-zu",),
        "Medium: X → en": ("te-en",),
    }


def test_families_go_by_the_other_language_or_the_target():
    groups, unknown = family_groups(["en-fr", "sv-en", "fr-de", "de-ru", "en-xx", "zh_CN-en"])
    assert groups == {
        "Germanic": ("sv-en", "fr-de"),
        "Romance": ("en-fr",),
        "Slavic": ("de-ru",),
        "Sino-Tibetan": ("zh_CN-en",),
    }
    assert unknown == ("xx",)
    # other codes of a language
    groups, unknown = family_groups(["eng_Latn-zho_Hans", "tha_Thai-eng_Latn", "cmn-pt_BR"])
    assert groups == {
        "Romance": ("cmn-pt_BR",),
        "Sino-Tibetan": ("eng_Latn-zho_Hans",),
        "Kra-Dai": ("tha_Thai-eng_Latn",),
    }
    assert unknown == ()


@pytest.mark.parametrize(
    "languages", [load("opus100").languages, load("ted19").languages, EUROPARL.split()]
)
def test_every_language_of_the_papers_corpora_has_one_family(languages):
    directions = [f"en-{language}" for language in languages if language != "en"]
    groups, unknown = family_groups(directions)
    assert unknown == ()
    assert sorted(row for rows in groups.values() for row in rows) == sorted(directions)


def test_user_groups_from_patterns_and_a_file(tmp_path, refused):
    path = tmp_path / "groups.json"
    path.write_text('{"file": ["de-fr", "*-en"]}', encoding="utf-8")
    assert user_groups(["mine=fr-*, *-de", f"@{path}"], ALL) == {
        "mine": ("en-de", "fr-de", "fr-en"),
        "file": ("de-en", "de-fr", "fr-en"),
    }
    for specs, names in (
        (["mine"], "it is mine"),
        (["=*-fr"], "it is =*-fr"),
        (["mine=*-fr,"], "it is mine"),
        (["mine=*-fr,*-xx"], "*-xx of mine"),
        (["mine=*-fr", "mine=*-de"], "mine occurs twice"),
        (["@none.json"], "none.json: No such file"),
    ):
        with refused.raised(f"{specs}", names=names):
            user_groups(specs, ALL)
    for content in ("{", "{}", "[]", '{"a": "de-fr"}', '{"a": []}', '{"a": [1]}'):
        path.write_text(content, encoding="utf-8")
        with refused.raised(content, names="--group"):
            user_groups([f"@{path}"], ALL)


def test_win_ratio_counts_better_scores_of_shared_directions():
    system = {"a-b": 2.0, "b-a": 1.0, "a-c": 3.0, "c-a": 0.5, "only": 9.0}
    baseline = {"a-b": 1.0, "b-a": 1.0, "a-c": 2.0, "c-a": 1.0, "other": 9.0}
    assert win_ratio(system, baseline, higher_is_better=True) == 50
    assert win_ratio(system, baseline, higher_is_better=False) == 25
    with pytest.raises(ValueError, match="no common direction"):
        win_ratio({"a-b": 1.0}, {"b-a": 1.0}, higher_is_better=True)


def test_pearson_is_the_covariance_of_standard_scores():
    x, y = [1.0, 2.0, 4.0], [1.0, 3.0, 2.0]
    # means 7/3 and 2; sums of products 1, of squares 14/3 and 2
    assert pearson(x, y) == pytest.approx(1 / (14 / 3 * 2) ** 0.5)
    # it is undefined without points or variance
    assert pearson(x[:2], y[:2]) is None
    assert pearson([0.1] * 3, y) is None
    assert pearson(x, [5.0] * 3) is None
