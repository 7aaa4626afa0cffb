"""The TLM paper's objective: cross-entropy plus source reconstruction (Gao et al., 2022)."""

from typing import Any

from fairseq.criterions import register_criterion

from tdo_plugin.criterions.label_smoothed_cross_entropy_terms import (
    LabelSmoothedCrossEntropyTerms,
    TermOptions,
)


@register_criterion("label_smoothed_cross_entropy_tlm", dataclass=TermOptions)
class LabelSmoothedCrossEntropyTLM(LabelSmoothedCrossEntropyTerms):
    """``label_smoothed_cross_entropy_terms`` with ``--loss-terms reconstruction``."""

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "LabelSmoothedCrossEntropyTLM":
        return cls(task, cfg, ["reconstruction"])
