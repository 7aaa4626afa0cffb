"""The TPDM paper's objective: cross-entropy plus TPDM (Chen et al., 2023, equation 12)."""

from typing import Any

from fairseq.criterions import register_criterion

from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import (
    LabelSmoothedCrossEntropyTerms,
    TermOptions,
)


@register_criterion("label_smoothed_cross_entropy_tpdm", dataclass=TermOptions)
class LabelSmoothedCrossEntropyTPDM(LabelSmoothedCrossEntropyTerms):
    """``label_smoothed_cross_entropy_terms`` with ``--loss-terms tpdm``."""

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "LabelSmoothedCrossEntropyTPDM":
        return cls(task, cfg, ["tpdm"])
