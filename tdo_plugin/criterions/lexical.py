"""A loss term for the start of training: the first stage predicts the target's words (ours)."""

import logging
import math
from argparse import Namespace
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass
from torch import Tensor

from tdo_plugin.criterions.loss_terms import (
    LossOutput,
    ModelOutputs,
    OutputRequest,
    Sample,
    Update,
    scored_target,
    spec_of,
    spec_of_training,
)
from tdo_plugin.errors import UserError
from tdo_plugin.modules.losses.lexical_loss import entry_lexical_nll
from tdo_plugin.modules.spec import ModelSpec

logger = logging.getLogger(__name__)


@dataclass
class LexicalOptions(FairseqDataclass):
    """Options of the lexical term."""

    lexical_weight: float = field(
        default=1.0,
        metadata={"help": "initial weight of the first stage's lexical loss (IBM model 1)"},
    )
    lexical_updates: int = field(
        default=0, metadata={"help": "updates over which that weight falls linearly to 0"}
    )


class Lexical:
    """Trains the source states at the target's entry to predict its words (``lexical_nll``).

    Until the target reads its source, nothing else trains the first stage. The weight falls to 0;
    from then on, and before the first update, no outputs are requested.

    Raises:
        UserError: an option is out of range, the task provides no update numbers, or the model is
            not this package's or has no first stage.
    """

    name = "lexical"
    option_class = LexicalOptions
    needs_source = True

    def __init__(self, options: Namespace, task: Any) -> None:
        for name, holds, must in (
            ("weight", 0 < options.lexical_weight < math.inf, "positive and finite"),
            ("updates", options.lexical_updates > 0, "positive with the loss term lexical"),
        ):
            if not holds:
                value = getattr(options, f"lexical_{name}")
                raise UserError(f"`--lexical-{name}` must be {must}; it is {value}")
        if not getattr(task, "provides_update_info", False):
            raise UserError(
                "`--task` must be tdo_translation or built on it for the loss term lexical, whose "
                "weight depends on the update; it is not"
            )
        self.options = options
        self.padding_idx: int = task.target_dictionary.pad()
        self._weight = 0.0  # in the last update
        args = getattr(task, "args", Namespace())
        if hasattr(args, "arch"):  # report errors at the start of training, not at a batch
            _checked(spec_of_training(task))
            if 0 < getattr(args, "max_update", 0) <= options.lexical_updates:
                logger.warning(
                    "the loss term lexical stays on until the end: --max-update is %d, "
                    "--lexical-updates %d",
                    args.max_update,
                    options.lexical_updates,
                )

    def _scored(self, sample: Sample) -> tuple[Tensor, int]:
        return scored_target(sample, self.options.ignore_prefix_size, self.padding_idx)

    def request(self, model: Any, sample: Sample, update: Update | None = None) -> OutputRequest:
        spec = _checked(spec_of(model))
        if update is not None:
            left = 1 - update.number / self.options.lexical_updates
            self._weight = float(self.options.lexical_weight * max(left, 0.0))
        if not self._weight:
            return OutputRequest()
        loss = partial(entry_lexical_nll, target=self._scored(sample)[0])
        return OutputRequest(source_layer_outputs=[spec.entry_layer], source_loss=loss)

    def loss(
        self, outputs: ModelOutputs, sample: Sample, update: Update | None = None
    ) -> LossOutput:
        weight, (target, tokens) = self._weight, self._scored(sample)
        summed = target.new_full((), len(target) * weight, dtype=torch.float64)
        logs: dict[str, Tensor | int] = {"weight": summed}
        if outputs.source_loss is None:
            return LossOutput(summed.new_zeros((), dtype=torch.float32), logs)
        logs |= {"nll_loss": outputs.source_loss.detach(), "ntokens": tokens}
        return LossOutput(outputs.source_loss * weight, logs)


def _checked(spec: ModelSpec | None) -> ModelSpec:
    if spec is None:
        raise UserError("`--arch` must be one of tdo_plugin's for the loss term lexical; it is not")
    if spec.entry_layer == 0:
        raise UserError(
            "`--tdo-target-layer` must be positive for the loss term lexical, which trains the "
            "first stage; it is 0"
        )
    return spec
