"""The papers' objectives, as fairseq and its checkpoints know them."""

import pytest
from fairseq.criterions import CRITERION_REGISTRY

import tdo_plugin.criterions  # noqa: F401
from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import LabelSmoothedCrossEntropyTerms
from tdo_plugin.criterions.term_list import TERMS


@pytest.mark.parametrize(
    ("name", "class_name", "terms"),
    [
        ("instrucl", "LabelSmoothedCrossEntropyInstruCL", ("instrucl",)),
        ("tpdm", "LabelSmoothedCrossEntropyTPDM", ("tpdm",)),
        ("tlm", "LabelSmoothedCrossEntropyTLM", ("reconstruction",)),
    ],
)
def test_presets(name, class_name, terms):
    """A checkpoint holds the class's name, and does not resume with another."""
    preset = CRITERION_REGISTRY[f"label_smoothed_cross_entropy_{name}"]
    assert preset.__name__ == class_name
    assert issubclass(preset, LabelSmoothedCrossEntropyTerms)
    assert preset.preset == terms and {*terms} <= TERMS.keys()
