"""A loss term for the beginning of a training: the first stage tells the target's words (ours)."""

import math
from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.dataclass import FairseqDataclass

from tdo_plugin.criterions.loss_terms import Answer, Request, Sample, TermLoss, Update
from tdo_plugin.criterions.specs import spec_of, spec_of_training
from tdo_plugin.errors import UserError
from tdo_plugin.modules.spec import ModelSpec


@dataclass
class LexicalOptions(FairseqDataclass):
    """Options of the term."""

    lexical_weight: float = field(
        default=1.0,
        metadata={"help": "weight of the first stage's translation (IBM model 1) at the beginning"},
    )
    lexical_updates: int = field(
        default=0, metadata={"help": "updates in which that weight falls to 0 in a straight line"}
    )


class Lexical:
    """Has the source, where the target enters, tell the target's words (see ``lexical_nll``).

    Until the target reads its source nothing else tells the first stage what to do. The weight
    falls to 0; from then on nothing is asked of the model.

    Raises:
        UserError: an option is out of range, the task does not tell of updates, or the model is
            of another kind or has no first stage.
    """

    def __init__(self, options: Namespace, task: Any) -> None:
        for name, holds, must in (
            ("weight", 0 < options.lexical_weight < math.inf, "positive and finite"),
            ("updates", options.lexical_updates > 0, "positive with the loss term lexical"),
        ):
            if not holds:
                value = getattr(options, f"lexical_{name}")
                raise UserError(f"`--lexical-{name}` must be {must}; it is {value}")
        if not getattr(task, "tells_updates", False):
            raise UserError(
                "`--task` must be tdo_translation or built on it for the loss term lexical, whose "
                "weight follows the updates; it is not"
            )
        self.options = options
        self.padding_idx: int = task.target_dictionary.pad()
        self._updates = 0  # how many there had been before the last batch that was trained on
        if hasattr(getattr(task, "args", None), "arch"):  # or a training ends at its first batch
            _checked(spec_of_training(task))

    @property
    def _weight(self) -> float:
        left = 1 - self._updates / self.options.lexical_updates
        return float(self.options.lexical_weight * max(left, 0.0))

    def request(self, model: Any, sample: Sample, update: Update | None = None) -> Request:
        _checked(spec_of(model))
        if update is not None:
            self._updates = update.number
        return Request(lexical_target=sample["target"] if self._weight else None)

    def loss(self, answer: Answer, sample: Sample, update: Update | None = None) -> TermLoss:
        weight, target = self._weight, sample["target"]
        logs = {"weight": target.new_full((), len(target) * weight, dtype=torch.float64)}
        if answer.lexical is None:
            return TermLoss(logs["weight"].new_zeros((), dtype=torch.float32), logs)
        logs |= {
            "nll_loss": answer.lexical.detach(),
            "ntokens": target.ne(self.padding_idx).sum(),
        }
        return TermLoss(answer.lexical * weight, logs)


def _checked(spec: ModelSpec | None) -> None:
    if spec is None:
        raise UserError("`--arch` must be one of tdo_plugin's for the loss term lexical; it is not")
    if spec.entry_layer == 0:
        raise UserError(
            "`--tdo-target-layer` must be positive for the loss term lexical, which trains the "
            "first stage; it is 0"
        )
