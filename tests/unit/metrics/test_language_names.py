"""Languages by name."""

import pytest

from tdo_plugin.metrics.language_id.codes import ISO_639
from tdo_plugin.metrics.language_id.language_names import direction_name, language_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("de", "German"),
        ("pt_BR", "Portuguese (pt_BR)"),
        ("deu_Latn", "German (deu_Latn)"),
        ("nb", "Norwegian (nb)"),
        ("yue", "Cantonese"),
        ("qq", "qq"),
    ],
)
def test_a_language_by_its_name(code, name):
    assert language_name(code) == name


def test_directions_and_all_two_letter_codes():
    assert direction_name("de-zh") == "German → Chinese"
    assert not [code for code in ISO_639 if language_name(code) == code]
