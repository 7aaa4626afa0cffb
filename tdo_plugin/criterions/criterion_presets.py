"""The papers' objectives: the criterion with preset loss terms."""

from fairseq.criterions import register_criterion

from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import (
    LabelSmoothedCrossEntropyTerms,
    TermOptions,
)

# By the suffix of the criterion's name and class. Checkpoints hold the class, and a training does
# not resume with another.
PRESETS = {
    "InstruCL": ("instrucl",),  # the TDO paper's (Qu et al., equation 9)
    "TPDM": ("tpdm",),  # the TPDM paper's (Chen et al., 2023, equation 12)
    "TLM": ("reconstruction",),  # the TLM paper's (Gao et al., 2022)
}


def _register(name: str, terms: tuple[str, ...]) -> None:
    flags = f"``--loss-terms {','.join(terms)}``"
    preset = type(
        f"LabelSmoothedCrossEntropy{name}",
        (LabelSmoothedCrossEntropyTerms,),
        {"__doc__": f"``label_smoothed_cross_entropy_terms`` with {flags}.", "preset": terms},
    )
    register = register_criterion(f"label_smoothed_cross_entropy_{name.lower()}", TermOptions)
    register(preset)


for _name, _terms in PRESETS.items():
    _register(_name, _terms)
