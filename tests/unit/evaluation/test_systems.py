"""Which directions have the same sentences."""

from tdo_plugin.evaluation.outputs import Texts
from tdo_plugin.evaluation.systems import SystemTexts, parallel_directions


def test_directions_are_parallel_by_either_side():
    sides = {
        "de-fr": (("eins",), ("un",)),
        "de-es": (("eins",), ("uno",)),
        "en-es": (("two",), ("dos",)),
        "fr-en": (("trois",), ("three",)),
        "cs-en": (None, ("three",)),
    }
    texts = {row: Texts(row, source, ("x",), target) for row, (source, target) in sides.items()}
    systems = [SystemTexts("a", texts), SystemTexts("b", dict(list(texts.items())[:3]))]
    assert parallel_directions(systems) == {"de-fr", "de-es", "fr-en", "cs-en"}
    assert parallel_directions([SystemTexts("a", {"en-es": texts["en-es"]})]) == frozenset()
