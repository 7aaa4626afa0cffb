"""The losses of TPDM and GTPDM as a loss term (Chen et al., 2023, equations 11 to 13)."""

from argparse import Namespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tdo_plugin.criterions.adversary import Adversary
from tdo_plugin.criterions.loss_terms import (
    LossOutput,
    ModelOutputs,
    OutputRequest,
    Sample,
    Update,
    spec_of,
    spec_of_training,
)
from tdo_plugin.criterions.tpdm_options import TPDMOptions, check_tpdm_model, check_tpdm_options
from tdo_plugin.errors import UserError
from tdo_plugin.modules.losses.tpdm_loss import (
    GATES,
    RelaxedBernoulli,
    batch_mean_anchors,
    generator_loss,
    left_aligned,
    log_likelihood,
    mutual_information,
    position_loss,
    prior_divergence,
)
from tdo_plugin.modules.methods.disentangler import CAPTURED
from tdo_plugin.modules.methods.position_generator import PositionGenerator
from tdo_plugin.modules.positions import SinusoidalPositions
from tdo_plugin.modules.spec import ModelSpec

GENERATOR = "tpdm_generator"  # its key in a checkpoint


class Disentangled(NamedTuple):
    """The outputs of the disentangle module for a source.

    Attributes:
        semantic: h (B, S, D), which the layer continues with.
        positional: p (B, S, D), which only losses read.
        gate: logits (B, S) of tokens being disentangled; None: all are.
    """

    semantic: Tensor
    positional: Tensor
    gate: Tensor | None


class TPDM:
    """Removes position from the semantic embeddings of source tokens, token by token.

    The generator steps first, then the mutual information is estimated with it (section 3.6).
    Outside of training, as in validation, the generator stays unchanged.

    Raises:
        UserError: an option is out of range, the model has no such module, or the task provides no
            update numbers.
    """

    name = "tpdm"
    option_class = TPDMOptions
    needs_source = True

    def __init__(self, options: Namespace, task: Any) -> None:
        args = getattr(task, "args", Namespace())
        check_tpdm_options(options, int(getattr(args, "max_update", 0) or 0))
        self.options = options
        if not getattr(task, "provides_update_info", False):
            raise UserError(
                "`--task` must be tdo_translation or built on it for TPDM, whose generator is "
                "trained alongside the model; it is not"
            )
        self.padding_idx: int = task.source_dictionary.pad()
        self.adversary: Adversary | None = None
        self._sinusoids: SinusoidalPositions | None = None
        self._gates: RelaxedBernoulli | None = None  # of the last model with a request
        if hasattr(task.args, "arch"):  # report errors at the start of training, not at a batch
            spec = check_tpdm_model(spec_of_training(task), options)
            if options.tpdm_disentangle_weight:
                self.adversary = self._adversary(spec, getattr(task.args, "seed", 1))
                task.register_state(GENERATOR, self.adversary)

    def _adversary(self, spec: ModelSpec, seed: int) -> Adversary:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # the same on all workers
            generator = PositionGenerator.of(spec)
        options = self.options
        return Adversary(generator, options.tpdm_generator_lr, options.tpdm_new_generator)

    def request(self, model: Any, sample: Sample, update: Update | None = None) -> OutputRequest:
        kind = check_tpdm_model(spec_of(model), self.options).tpdm_gate
        if kind != "none":
            self._gates = GATES[kind](self.options.tpdm_gate_temperature)
        return OutputRequest(capture=CAPTURED)

    def loss(
        self, outputs: ModelOutputs, sample: Sample, update: Update | None = None
    ) -> LossOutput:
        semantic, positional, gate = CAPTURED
        captured = Disentangled(
            outputs.captured[semantic], outputs.captured[positional], outputs.captured.get(gate)
        )
        whole, padding = self._aligned(captured, sample["net_input"]["src_tokens"])
        device = whole.positional.device.type
        with torch.autocast(device, enabled=False):
            return self._loss(whole, padding, update)

    def _aligned(self, captured: Disentangled, src_tokens: Tensor) -> tuple[Disentangled, Tensor]:
        """Embeddings in at least single precision and padding, moved to right padding."""
        padding = src_tokens.eq(self.padding_idx)
        order = left_aligned(padding)
        dtype = torch.promote_types(captured.positional.dtype, torch.float32)
        places = order[..., None].expand_as(captured.positional)
        semantic, positional = (embedding.to(dtype).gather(1, places) for embedding in captured[:2])
        gate = None if captured.gate is None else captured.gate.to(dtype).gather(1, order)
        return Disentangled(semantic, positional, gate), padding.gather(1, order)

    def _loss(self, captured: Disentangled, padding: Tensor, update: Update | None) -> LossOutput:
        total = captured.positional.new_zeros(())
        logged: dict[str, Tensor] = {}  # (B, S), zero at padding
        if self.adversary is not None:
            bounds, logged["g"] = self._mutual_information(
                self.adversary, captured, padding, update
            )
            if captured.gate is not None:
                draws = update is not None
                gates, divergence, shown = self._drawn(captured.gate, padding, draws)
                bounds = gates * bounds  # equation 10
                total = total + divergence.sum() * self.options.tpdm_gate_weight
                logged |= shown
            total = total + bounds.sum() * self._disentangle_weight(update)
            logged["d"] = bounds
        if self.options.tpdm_position_weight:
            losses = position_loss(
                captured.positional,
                self._anchors(captured.positional, padding),
                padding,
                self.options.tpdm_temperature,
            )
            total = total + losses.sum() * self.options.tpdm_position_weight
            logged["p"] = losses
        tokens = (~padding).sum(1).clamp(min=1)
        return LossOutput(
            total,
            {name: (values.detach().sum(1) / tokens).sum() for name, values in logged.items()},
        )

    def _disentangle_weight(self, update: Update | None) -> float:
        """L_d's weight in an update; outside of updates (None) its final weight."""
        weight: float = self.options.tpdm_disentangle_weight
        if update is None:
            return weight
        counted = update.number + 1 - self.options.tpdm_disentangle_start
        return weight * min(max(counted / (self.options.tpdm_disentangle_warmup or 1), 0.0), 1.0)

    def _mutual_information(
        self, adversary: Adversary, captured: Disentangled, padding: Tensor, update: Update | None
    ) -> tuple[Tensor, Tensor]:
        """Mutual information per token, and the loss of the generator that estimates it; (B, S)."""
        tau, still = self.options.tpdm_temperature, captured.positional.detach()

        def loss(guessed: Tensor) -> Tensor:
            return generator_loss(log_likelihood(guessed, still, padding, tau), padding).sum()

        if update is not None and update.first:
            for _ in range(self.options.tpdm_generator_steps):
                adversary.step(captured.semantic.detach(), padding, loss, update)
        guessed = adversary.guess(captured.semantic, padding)
        positional = still if self.options.tpdm_detach_positional else captured.positional
        likelihood = log_likelihood(guessed, positional, padding, tau)
        return mutual_information(likelihood, padding), generator_loss(likelihood, padding)

    def _drawn(
        self, logits: Tensor, padding: Tensor, draws: bool
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Gates, their divergence from the prior, and the values to log; all (B, S).

        Outside of training a gate is its probability of being open.
        """
        assert self._gates is not None
        logits_open = self._gates.open(logits)
        probability = logits_open.sigmoid().masked_fill(padding, 0)
        gates = self._gates.draw(logits) if draws else probability
        divergence = prior_divergence(logits_open, self.options.tpdm_gate_prior)
        rather_open = (logits_open > 0).to(logits).masked_fill(padding, 0)
        return gates, divergence.masked_fill(padding, 0), {"open": rather_open, "gate": probability}

    def _anchors(self, positional: Tensor, padding: Tensor) -> Tensor:
        """The anchor of each position, (S, D)."""
        if self.options.tpdm_anchor == "batch-mean":
            return batch_mean_anchors(positional, padding)
        length, width = positional.shape[1:]
        if self._sinusoids is None:
            self._sinusoids = SinusoidalPositions(width, self.padding_idx)
        places = torch.arange(length, device=positional.device) + self.padding_idx + 1
        anchors: Tensor = self._sinusoids.to(positional)(places, length)
        return anchors
