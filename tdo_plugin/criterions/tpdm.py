"""The losses of TPDM and GTPDM as a term (Chen et al., 2023, equations 11 to 13)."""

import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from torch import Tensor

from tdo_plugin.criterions.adversary import Adversary
from tdo_plugin.criterions.loss_terms import Answer, Request, Sample, TermLoss, Update
from tdo_plugin.errors import UserError
from tdo_plugin.models.config import spec_from_args
from tdo_plugin.modules.disentangler import Disentangled
from tdo_plugin.modules.position_generator import PositionGenerator
from tdo_plugin.modules.positions import SinusoidalPositions
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.tpdm import (
    GATES,
    batch_mean_anchors,
    generator_loss,
    left_aligned,
    log_likelihood,
    mutual_information,
    position_loss,
    prior_divergence,
)

ANCHORS = ChoiceEnum(["batch-mean", "sinusoidal"])
GENERATOR = "tpdm_generator"  # its name in a checkpoint
LOWEST = 0.0001  # temperature; far below it quotients leave single precision


@dataclass
class TPDMOptions(FairseqDataclass):
    """Options of the term; the paper's form is the default."""

    tpdm_temperature: float = field(
        default=0.05, metadata={"help": "divides the cosine similarities"}
    )
    tpdm_anchor: ANCHORS = field(  # type: ignore[valid-type]
        default="batch-mean",
        metadata={
            "help": "what positional embeddings are drawn to: their mean at each position of the "
            "batch, or the Transformer's sinusoidal position vectors"
        },
    )
    tpdm_disentangle_weight: float = field(
        default=1.0,
        metadata={"help": "weight of the mutual information in the sum; 0: without (L_d)"},
    )
    tpdm_position_weight: float = field(
        default=1.0, metadata={"help": "weight of the alignment of positions; 0: without (L_p)"}
    )
    tpdm_generator_lr: float = field(
        default=0.0, metadata={"help": "learning rate of the generator; 0: the model's"}
    )
    tpdm_gate_prior: float = field(
        default=0.5,
        metadata={"help": "GTPDM: share of tokens to be disentangled that the gates are drawn to"},
    )
    tpdm_gate_weight: float = field(
        default=1.0, metadata={"help": "GTPDM: weight of the gates' divergence from it"}
    )
    tpdm_gate_temperature: float = field(
        default=0.7, metadata={"help": "GTPDM: the lower, the nearer are gates to 0 or 1"}
    )
    tpdm_new_generator: bool = field(
        default=False,
        metadata={"help": "begin with a new generator where a checkpoint has none that fits"},
    )


def check_tpdm_options(options: Namespace) -> None:
    """Refuse values that make no sense.

    Raises:
        UserError: a value out of range.
    """

    def check(name: str, holds: bool, must: str) -> None:
        if not holds:
            value = getattr(options, name)
            raise UserError(f"`--{name.replace('_', '-')}` must be {must}; it is {value}")

    for name in ("tpdm_temperature", "tpdm_gate_temperature"):
        value = getattr(options, name)
        check(name, value >= LOWEST and math.isfinite(value), f"at least {LOWEST} and finite")
    numbers = ("disentangle_weight", "position_weight", "generator_lr", "gate_weight")
    for name in (f"tpdm_{one}" for one in numbers):
        value = getattr(options, name)
        check(name, value >= 0 and math.isfinite(value), "finite and not negative")
    check("tpdm_gate_prior", 0 < options.tpdm_gate_prior < 1, "above 0 and below 1")
    either = options.tpdm_disentangle_weight or options.tpdm_position_weight
    check("tpdm_position_weight", bool(either), "positive where --tpdm-disentangle-weight is 0")
    if not options.tpdm_disentangle_weight:
        _left_out(
            options, ("generator_lr", "new_generator"), "where `--tpdm-disentangle-weight` is 0"
        )


def _left_out(options: Namespace, names: Sequence[str], where: str) -> None:
    """Refuse options that would do nothing."""
    for name in (f"tpdm_{one}" for one in names):
        value = getattr(options, name)
        if value != TPDMOptions.__dataclass_fields__[name].default:
            raise UserError(f"`--{name.replace('_', '-')}` must be left out {where}; it is {value}")


class TPDM:
    """Takes the position out of what the source's tokens mean, token by token.

    The generator steps first, once a batch, then the mutual information is measured with it
    (section 3.6). Where it is not trained, as in a validation, it stands as it is.

    Raises:
        UserError: an option is out of range, the model has no such module, or the task does not
            tell of updates.
    """

    def __init__(self, options: Namespace, task: Any) -> None:
        check_tpdm_options(options)
        self.options = options
        if not getattr(task, "tells_updates", False):
            raise UserError(
                "`--task` must be tdo_translation or built on it for TPDM, whose generator is "
                "trained beside the model; it is not"
            )
        self.padding_idx: int = task.source_dictionary.pad()
        self.adversary: Adversary | None = None
        self._sinusoids: SinusoidalPositions | None = None
        args = task.args
        if hasattr(args, "arch"):  # a training ends here rather than at its first batch
            languages = len(getattr(task, "langs", ()))
            ours = hasattr(args, "tdo_topology")
            spec = checked(spec_from_args(args, languages) if ours else None, options)
            if options.tpdm_disentangle_weight:
                self.adversary = self._adversary(spec, args)
                task.remember(GENERATOR, self.adversary)

    def _adversary(self, spec: ModelSpec, args: Namespace) -> Adversary:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(getattr(args, "seed", 1))  # the same on all workers
            generator = PositionGenerator.of(spec)
        options = self.options
        return Adversary(generator, options.tpdm_generator_lr, options.tpdm_new_generator)

    def request(self, model: Any, sample: Sample) -> Request:
        core = getattr(model, "core", None)
        self._spec = checked(None if core is None else core.spec, self.options)
        return Request(disentangled=True)

    def loss(self, answer: Answer, sample: Sample, update: Update | None = None) -> TermLoss:
        assert answer.disentangled is not None
        whole, padding = self._aligned(answer.disentangled, sample["net_input"]["src_tokens"])
        device = whole.positional.device.type
        with torch.autocast(device, enabled=False):
            return self._loss(whole, padding, update)

    def _aligned(self, found: Disentangled, src_tokens: Tensor) -> tuple[Disentangled, Tensor]:
        """Embeddings in at least single precision, and padding, with padding on the right."""
        padding = src_tokens.eq(self.padding_idx)
        order = left_aligned(padding)
        dtype = torch.promote_types(found.positional.dtype, torch.float32)
        places = order[..., None].expand_as(found.positional)
        semantic, positional = (one.to(dtype).gather(1, places) for one in found[:2])
        gate = None if found.gate is None else found.gate.to(dtype).gather(1, order)
        return Disentangled(semantic, positional, gate), padding.gather(1, order)

    def _loss(self, found: Disentangled, padding: Tensor, update: Update | None) -> TermLoss:
        total = found.positional.new_zeros(())
        tokens = (~padding).sum(1).clamp(min=1)
        logs: dict[str, Tensor] = {}

        def log(name: str, losses: Tensor) -> None:
            logs[name] = (losses.detach().sum(1) / tokens).sum()

        if self.adversary is not None:
            bounds, unlikely = self._mutual_information(self.adversary, found, padding, update)
            if found.gate is not None:
                bounds, own = self._gated(bounds, found.gate, padding, update is not None, log)
                total = total + own.sum() * self.options.tpdm_gate_weight
            total = total + bounds.sum() * self.options.tpdm_disentangle_weight
            log("d", bounds)
            log("g", unlikely)
        if self.options.tpdm_position_weight:
            losses = position_loss(
                found.positional,
                self._anchors(found.positional, padding),
                padding,
                self.options.tpdm_temperature,
            )
            total = total + losses.sum() * self.options.tpdm_position_weight
            log("p", losses)
        return TermLoss(total, logs)

    def _mutual_information(
        self, adversary: Adversary, found: Disentangled, padding: Tensor, update: Update | None
    ) -> tuple[Tensor, Tensor]:
        """Of each token, and the generator's loss with which it was measured; (B, S) both."""
        tau, positional = self.options.tpdm_temperature, found.positional.detach()

        def loss(guessed: Tensor) -> Tensor:
            return generator_loss(log_likelihood(guessed, positional, padding, tau), padding).sum()

        if update is not None and update.first:
            adversary.step(found.semantic.detach(), padding, loss, update)
        guessed = adversary.guess(found.semantic, padding)
        likelihood = log_likelihood(guessed, found.positional, padding, tau)
        return mutual_information(likelihood, padding), generator_loss(likelihood, padding)

    def _gated(
        self, bounds: Tensor, logits: Tensor, padding: Tensor, draws: bool, log: Any
    ) -> tuple[Tensor, Tensor]:
        """Bounds times gates (equation 10), and what draws the gates to their prior; (B, S) both.

        Where nothing is trained a gate is its probability of being open.
        """
        kind = GATES[self._spec.tpdm_gate](self.options.tpdm_gate_temperature)
        logits_open = kind.open(logits)
        probability = logits_open.sigmoid().masked_fill(padding, 0)
        gates = kind.draw(logits) if draws else probability
        divergence = prior_divergence(logits_open, self.options.tpdm_gate_prior)
        log("open", (logits_open > 0).to(bounds).masked_fill(padding, 0))
        log("gate", probability)
        return gates * bounds, divergence.masked_fill(padding, 0)

    def _anchors(self, positional: Tensor, padding: Tensor) -> Tensor:
        """What each position is drawn to, (S, D)."""
        if self.options.tpdm_anchor == "batch-mean":
            return batch_mean_anchors(positional, padding)
        length, width = positional.shape[1:]
        if self._sinusoids is None:
            self._sinusoids = SinusoidalPositions(width, self.padding_idx)
        places = torch.arange(length, device=positional.device) + self.padding_idx + 1
        anchors: Tensor = self._sinusoids.to(positional)(places, length)
        return anchors


def checked(spec: ModelSpec | None, options: Namespace) -> ModelSpec:
    """A model's specification, where the losses fit it.

    Raises:
        UserError: on another model (None), or one without the module.
    """
    if spec is None:
        raise UserError("`--arch` must be one of tdo_plugin's for TPDM; it is not")
    if spec.tpdm_layer == 0:
        raise UserError("`--tdo-tpdm-layer` must be a layer of the source for TPDM; it is 0")
    if spec.tpdm_gate == "none":
        names = ("gate_prior", "gate_weight", "gate_temperature")
        _left_out(options, names, "where `--tdo-tpdm-gate` is none")
    elif options.tpdm_disentangle_weight == 0:
        raise UserError(
            "`--tpdm-disentangle-weight` must be positive where `--tdo-tpdm-gate` is not none; it "
            "is 0"
        )
    return spec
