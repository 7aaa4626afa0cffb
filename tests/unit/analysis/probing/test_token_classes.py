"""Classes of pieces."""

import pytest

from tdo_plugin.analysis.probing.token_classes import classes_of_types, kinds_of, script_of


@pytest.mark.parametrize(
    ("piece", "kinds", "script"),
    [
        ("▁The", ("capital",), "Latin"),
        ("▁the", (), "Latin"),
        ("«Вода", ("capital",), "Cyrillic"),
        ("iPad", (), "Latin"),
        ("▁2008", ("number",), None),
        ("३", ("number",), "Devanagari"),
        ("3rd", (), "Latin"),
        ("▁,", ("punctuation",), None),
        ("。", ("punctuation",), None),
        ("▁€", ("punctuation",), None),
        ("&apos;", ("punctuation",), None),
        ("@-@", ("punctuation",), None),
        ("Haus@@", ("capital",), "Latin"),
        ("水", (), "Han"),
        ("السلام", (), "Arabic"),
        ("▁", (), None),
    ],
)
def test_classes_of_a_piece(piece, kinds, script):
    assert (kinds_of(piece), script_of(piece)) == (kinds, script)


def test_membership_of_a_vocabulary():
    classes = classes_of_types(["<s>", "▁Он", "он", "7", "!"])
    assert {name: members.tolist() for name, members in classes["kind"].items()} == {
        "capital": [False, True, False, False, False],
        "number": [False, False, False, True, False],
        "punctuation": [False, False, False, False, True],
    }
    assert classes["script"]["Cyrillic"].tolist() == [False, True, True, False, False]
    assert set(classes["script"]) == {"Latin", "Cyrillic"}
