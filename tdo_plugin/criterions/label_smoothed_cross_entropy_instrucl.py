"""The TDO paper's objective: cross-entropy plus InstruCL (Qu et al., equation 9)."""

from typing import Any

from fairseq.criterions import register_criterion

from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import (
    LabelSmoothedCrossEntropyTerms,
    TermOptions,
)


@register_criterion("label_smoothed_cross_entropy_instrucl", dataclass=TermOptions)
class LabelSmoothedCrossEntropyInstruCL(LabelSmoothedCrossEntropyTerms):
    """``label_smoothed_cross_entropy_terms`` with ``--loss-terms instrucl``."""

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "LabelSmoothedCrossEntropyInstruCL":
        return cls(task, cfg, ["instrucl"])
