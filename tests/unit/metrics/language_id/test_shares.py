"""Each hypothesis is counted once, and what cannot be recognised is not counted as wrong."""

from dataclasses import asdict

import pytest

from tdo_plugin.metrics.language_id import UNDETECTABLE, shares
from tdo_plugin.metrics.language_id.codes import canonical


class Knows:
    """A detector that knows some languages."""

    signature = "knows"

    def __init__(self, languages: str) -> None:
        self.languages = languages.split()

    def label(self, language: str) -> str | None:
        code = canonical(language)
        return code if code in self.languages else None


ALL = Knows("en de fr cs sk hr bs no da zh")


@pytest.mark.parametrize(
    ("direction", "detected", "target", "english", "source", "other", "undetectable", "confused"),
    [
        ("de-fr", "fr fr fr en en de cs ?", 37.5, 25, 12.5, 12.5, 12.5, 0),
        ("de-fr", "fr fr", 100, 0, 0, 0, 0, 0),
        ("en-fr", "en en fr de", 25, 50, 0, 25, 0, 0),  # copies of the source are English
        ("fr-en", "en fr en fr", 50, 0, 50, 0, 0, 0),  # English is the target
        ("de-hr", "hr bs bs cs", 25, 0, 0, 75, 0, 50),
        ("bs-hr", "hr bs de de", 25, 0, 25, 50, 0, 0),  # the source is not the confused one
        ("de-nb", "no da sk ?", 25, 0, 0, 50, 25, 25),
        ("xx-zh_TW", "zh zh zh fr", 75, 0, 0, 25, 0, 0),  # of an unknown source
    ],
)
def test_shares(direction, detected, target, english, source, other, undetectable, confused):
    result = shares(detected.split(), *direction.split("-"), ALL)
    names = ("target", "english", "source", "other", "undetectable")
    expected = dict(zip(names, (target, english, source, other, undetectable), strict=True))
    assert (result.shares, result.confused, result.off) == (expected, confused, 100 - target)


def test_counts_are_by_label_the_most_frequent_first():
    result = shares(["fr", UNDETECTABLE, "de", "de", "sk"], "de", "fr", ALL)
    assert list(result.languages.items()) == [("de", 2), ("?", 1), ("fr", 1), ("sk", 1)]
    assert set(asdict(result)) == {"shares", "languages", "confused"}
    # a target that the detector does not know has no ratio; English may have another name
    assert shares(["en", "en"], "en", "xh", ALL) is None
    for english, detected in (("eng_Latn", ["en", "fr"]), ("sk", ["sk", "cs"])):
        result = shares(detected, "deu_Latn", "fra_Latn", ALL, english=english)
        assert result.shares["english"] == 50
