"""The papers' objectives: the criterion with its loss terms named beforehand."""

from fairseq.criterions import register_criterion

from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import (
    LabelSmoothedCrossEntropyTerms,
    TermOptions,
)

PRESETS = {
    "instrucl": ("instrucl",),  # the TDO paper's (Qu et al., equation 9)
    "tpdm": ("tpdm",),  # the TPDM paper's (Chen et al., 2023, equation 12)
    "tlm": ("reconstruction",),  # the TLM paper's (Gao et al., 2022)
}


def _register(name: str, terms: tuple[str, ...]) -> None:
    flags = f"``--loss-terms {','.join(terms)}``"
    preset = type(
        f"LabelSmoothedCrossEntropy_{name}",
        (LabelSmoothedCrossEntropyTerms,),
        {"__doc__": f"``label_smoothed_cross_entropy_terms`` with {flags}.", "preset": terms},
    )
    register_criterion(f"label_smoothed_cross_entropy_{name}", dataclass=TermOptions)(preset)


for _name, _terms in PRESETS.items():
    _register(_name, _terms)
