"""Source reconstruction as a loss term (Gao et al., 2022, sections 3.1 and 3.1.2)."""

import logging
from argparse import Namespace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tdo_plugin.criterions.loss_terms import (
    LossOutput,
    ModelOutputs,
    OutputRequest,
    Sample,
    Update,
    spec_of,
    spec_of_training,
)
from tdo_plugin.criterions.reconstruction_options import ReconstructionOptions, schedule
from tdo_plugin.errors import UserError
from tdo_plugin.models.batch_keys import CLEAN_SOURCE
from tdo_plugin.models.languages import tag_ids
from tdo_plugin.modules.losses.reconstruction_loss import reconstruction_loss, reconstruction_target
from tdo_plugin.modules.source_state import SourceState
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.translation_model import TranslationModel

logger = logging.getLogger(__name__)


class Reconstruction:
    """Trains the source states to predict the source: L_RE, weighted by lambda.

    While lambda is 0, no outputs are requested.

    Raises:
        UserError: an option is out of range, the model is not this package's, source and target
            vocabularies differ, or lambda is scheduled and the task provides no update numbers.
    """

    name = "reconstruction"
    option_class = ReconstructionOptions
    needs_source = False

    def __init__(self, options: Namespace, task: Any) -> None:
        args = getattr(task, "args", Namespace())
        self.options = options
        self._weight_after = schedule(options, int(getattr(args, "max_update", 0) or 0))
        self._updates = 0  # updates before that of the last training batch
        changes = options.reconstruction_schedule != "constant"
        if changes and not getattr(task, "provides_update_info", False):
            raise UserError(
                "`--task` must be tdo_translation or built on it for --reconstruction-schedule "
                f"{options.reconstruction_schedule}, which depends on the update; it is not"
            )
        if task.source_dictionary != task.target_dictionary:
            raise UserError(
                "`--criterion` must be without source reconstruction if source and target have "
                "separate dictionaries, since the target's predicts the source; it has the term"
            )
        self.padding_idx: int = task.source_dictionary.pad()
        self._tags = torch.tensor(tag_ids(task), dtype=torch.int64)
        if hasattr(args, "arch"):  # report errors at the start of training, not at a batch
            self._warn(_checked(spec_of_training(task)), args)

    def request(self, model: Any, sample: Sample, update: Update | None = None) -> OutputRequest:
        spec = _checked(spec_of(model))
        if update is not None:
            self._updates = update.number
        if not self._weight:
            return OutputRequest()
        target = self._target(sample)
        # read before the forward pass, while the device has little left to do
        tokens = int(target.ne(self.padding_idx).sum())
        smoothing = self.options.label_smoothing
        loss = partial(_reconstructed, target=target, smoothing=smoothing, tokens=tokens)
        return OutputRequest(source_layer_outputs=[spec.source_layers], source_loss=loss)

    def loss(
        self, outputs: ModelOutputs, sample: Sample, update: Update | None = None
    ) -> LossOutput:
        source = sample["net_input"]["src_tokens"]
        weight = self._weight
        logs = {"weight": source.new_full((), len(source) * weight, dtype=torch.float64)}
        if outputs.source_loss is None:
            return LossOutput(logs["weight"].new_zeros((), dtype=torch.float32), logs)
        loss, nll, tokens = outputs.source_loss
        logs |= {"nll_loss": nll.detach(), "ntokens": tokens}
        if self.options.reconstruction_normalization == "mean":
            sourced = self._target(sample).ne(self.padding_idx).any(1)
            loss = loss * self._size(sourced, sample) / max(tokens, 1)
        return LossOutput(loss * weight, logs)

    def _target(self, sample: Sample) -> Tensor:
        """The prediction target (B, S): the source without noise and without tags."""
        clean = sample.get(CLEAN_SOURCE, sample["net_input"]["src_tokens"])
        self._tags = self._tags.to(clean.device)
        return reconstruction_target(
            clean, self.options.reconstruction_task, self._tags, self.padding_idx
        )

    def _size(self, sourced: Tensor, sample: Sample) -> Tensor:
        """The number of sentences, or of target tokens, with a source: the scale of `mean`."""
        if self.options.sentence_avg:
            return sourced.sum()
        return (sample["target"].ne(self.padding_idx) & sourced[:, None]).sum()

    @property
    def _weight(self) -> float:
        """Lambda; outside of updates its last value."""
        return self._weight_after(self._updates)

    def _warn(self, spec: ModelSpec, args: Namespace) -> None:
        """Warn if reconstruction only copies what a position sees (section 3.1.2)."""
        if (
            not self.options.reconstruction_weight
            or getattr(args, "source_noise", "none") != "none"
        ):
            return
        why = {
            ("ae", "prefix"): "each position sees the token that it predicts",
            ("ae", "causal"): "each position sees the token that it predicts",
            (
                "lm",
                "prefix",
            ): "with --tdo-source-attention prefix each position sees the next token",
        }.get((self.options.reconstruction_task, spec.source_attention))
        if why is not None:
            logger.warning("source reconstruction is trivial without --source-noise: %s", why)


def _reconstructed(
    model: TranslationModel, source: SourceState, target: Tensor, smoothing: float, tokens: int
) -> tuple[Tensor, Tensor, int]:
    """Loss, negative log-likelihood and the number of tokens that they are summed over."""
    return *reconstruction_loss(model, source, target, smoothing, tokens), tokens


def _checked(spec: ModelSpec | None) -> ModelSpec:
    if spec is None:
        raise UserError("`--arch` must be one of tdo_plugin's for source reconstruction; it is not")
    return spec
