"""The baseline's objective: fairseq's label-smoothed loss, and InstruCL by whole forward passes."""

from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from torch import Tensor

from tdo_plugin.criterions.instrucl import InstruCL, InstruCLOptions
from tdo_plugin.modules.losses.instrucl_loss import (
    identity_source,
    instrucl_loss,
    instruction_index,
    tag_share_weights,
)


@dataclass
class PlainOptions(InstruCLOptions, LabelSmoothedCrossEntropyCriterionConfig):
    """The options of fairseq and of InstruCL."""

    plain_instrucl: bool = field(
        default=False,
        metadata={
            "help": "add InstruCL, with identity pairs passing the whole model including logits"
        },
    )


@register_criterion("plain_cross_entropy", dataclass=PlainOptions)
class PlainCrossEntropy(LabelSmoothedCrossEntropyCriterion):
    """fairseq's ``label_smoothed_cross_entropy``, optionally with InstruCL.

    As in :class:`LabelSmoothedCrossEntropyTerms`, the logged ``loss`` is only the cross-entropy.
    """

    def __init__(self, task: Any, options: Namespace) -> None:
        super().__init__(
            task,
            options.sentence_avg,
            options.label_smoothing,
            options.ignore_prefix_size,
            options.report_accuracy,
        )
        self.options = options
        self.instrucl = InstruCL(options, task) if options.plain_instrucl else None

    @classmethod
    def build_criterion(cls, cfg: Any, task: Any) -> "PlainCrossEntropy":
        return cls(task, cfg)

    def forward(
        self, model: Any, sample: dict[str, Any], reduce: bool = True
    ) -> tuple[Tensor, int, dict[str, Any]]:
        """The objective of a batch (a sum in nats), the sample size, and values to log."""
        if self.instrucl is None:
            return super().forward(model, sample, reduce)
        layer = self.instrucl.layer(model)
        net_output = model(**sample["net_input"], source_layer_outputs=(layer,))
        loss, nll = self.compute_loss(model, net_output, sample, reduce=reduce)
        sentences = sample["target"].size(0)
        sample_size = sentences if self.sentence_avg else sample["ntokens"]
        logs = {
            "loss": loss.detach(),
            "nll_loss": nll.detach(),
            "ntokens": sample["ntokens"],
            "nsentences": sentences,
            "sample_size": sample_size,
        }
        if self.report_accuracy:
            correct, total = self.compute_accuracy(model, net_output, sample)
            logs["n_correct"], logs["total"] = correct.item(), total.item()
        states = net_output[1]["source_layer_outputs"][layer]
        return loss + self._contrast(model, sample, layer, states), sample_size, logs

    def _contrast(self, model: Any, sample: dict[str, Any], layer: int, states: Tensor) -> Tensor:
        """InstruCL's term of the objective, given the sources' states (B, S, D) at the layer."""
        src_tokens = sample["net_input"]["src_tokens"]
        identity = self._identity(src_tokens, sample["target"])
        _, pair = model(
            identity,
            prev_output_tokens=sample["net_input"]["prev_output_tokens"],
            source_layer_outputs=(layer,),
        )
        padding = src_tokens.eq(self.padding_idx)
        anchors = _at_tag(states, padding)
        positives = _at_tag(pair["source_layer_outputs"][layer], identity.eq(self.padding_idx))
        losses = instrucl_loss(anchors, positives, self.options.instrucl_temperature)
        if self.options.instrucl_weighting == "tag-share":
            tags = src_tokens.gather(1, instruction_index(padding)[:, None])[:, 0]
            losses = losses * tag_share_weights(tags).to(losses)
        total = losses.sum() * self.options.instrucl_weight
        if self.options.instrucl_scale == "per-token":
            total = total * (~padding).sum() / len(src_tokens)
        return total

    def _identity(self, src_tokens: Tensor, target: Tensor) -> Tensor:
        """The source of the identity pairs: the target after its tag."""
        if self.instrucl.target_has_tag:
            return target
        return identity_source(src_tokens, target, self.padding_idx)


def _at_tag(states: Tensor, padding: Tensor) -> Tensor:
    """The states (B, S, D) at the tag, (B, D)."""
    return states[torch.arange(len(states), device=states.device), instruction_index(padding)]
