"""Options of TPDM's losses, and their checks (Chen et al., 2023)."""

import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from tdo_plugin.criterions.unused_options import reject_unused_options
from tdo_plugin.errors import UserError
from tdo_plugin.modules.spec import ModelSpec

ANCHORS = ChoiceEnum(["batch-mean", "sinusoidal"])
LOWEST = 0.0001  # of temperatures; far below, quotients exceed single precision


@dataclass
class TPDMOptions(FairseqDataclass):
    """Options of the TPDM term; the defaults are the paper's form."""

    tpdm_temperature: float = field(
        default=0.05, metadata={"help": "temperature tau: divides the cosine similarities"}
    )
    tpdm_anchor: ANCHORS = field(  # type: ignore[valid-type]
        default="batch-mean",
        metadata={
            "help": "anchors of the positional embeddings: their batch mean at each position, or "
            "the Transformer's sinusoidal position embeddings"
        },
    )
    tpdm_disentangle_weight: float = field(
        default=1.0,
        metadata={"help": "weight of the disentangling loss L_d (mutual information); 0: off"},
    )
    tpdm_disentangle_start: int = field(
        default=0,
        metadata={"help": "updates before L_d starts; the generator is already trained in them"},
    )
    tpdm_disentangle_warmup: int = field(
        default=0, metadata={"help": "updates over which the weight of L_d then rises linearly"}
    )
    tpdm_detach_positional: bool = field(
        default=False,
        metadata={
            "help": "let L_d's gradient reach only the semantic embedding; the positional one is "
            "then trained by L_p alone, whose weight must be positive"
        },
    )
    tpdm_position_weight: float = field(
        default=1.0, metadata={"help": "weight of the position alignment loss L_p; 0: off"}
    )
    tpdm_generator_lr: float = field(
        default=0.0, metadata={"help": "learning rate of the generator; 0: the model's"}
    )
    tpdm_generator_steps: int = field(
        default=1, metadata={"help": "steps of the generator per batch"}
    )
    tpdm_gate_prior: float = field(
        default=0.5,
        metadata={"help": "GTPDM: prior share of disentangled tokens"},
    )
    tpdm_gate_weight: float = field(
        default=1.0, metadata={"help": "GTPDM: weight of the gates' KL divergence from the prior"}
    )
    tpdm_gate_temperature: float = field(
        default=0.7, metadata={"help": "GTPDM: gate temperature; the lower, the closer to 0 or 1"}
    )
    tpdm_new_generator: bool = field(
        default=False,
        metadata={"help": "start with a new generator if a checkpoint has none that fits"},
    )


def check_tpdm_options(options: Namespace, updates: int = 0) -> None:
    """Refuse invalid values.

    Args:
        options: of the criterion.
        updates: maximum number of updates of the training; 0: unknown.

    Raises:
        UserError: a value is out of range.
    """

    def check(name: str, holds: bool, must: str) -> None:
        if not holds:
            value = getattr(options, name)
            raise UserError(f"`--{name.replace('_', '-')}` must be {must}; it is {value}")

    for name in ("tpdm_temperature", "tpdm_gate_temperature"):
        value = getattr(options, name)
        check(name, value >= LOWEST and math.isfinite(value), f"at least {LOWEST} and finite")
    numbers = ("disentangle_weight", "position_weight", "generator_lr", "gate_weight")
    for name in (f"tpdm_{suffix}" for suffix in numbers):
        value = getattr(options, name)
        check(name, value >= 0 and math.isfinite(value), "finite and not negative")
    for name in ("tpdm_disentangle_start", "tpdm_disentangle_warmup"):
        check(name, getattr(options, name) >= 0, "0 or more")
    start = options.tpdm_disentangle_start
    check("tpdm_disentangle_start", not 0 < updates <= start, f"below --max-update, {updates}")
    check("tpdm_generator_steps", options.tpdm_generator_steps >= 1, "at least 1")
    check("tpdm_gate_prior", 0 < options.tpdm_gate_prior < 1, "above 0 and below 1")
    either = options.tpdm_disentangle_weight or options.tpdm_position_weight
    check("tpdm_position_weight", bool(either), "positive if --tpdm-disentangle-weight is 0")
    if not options.tpdm_position_weight:
        _left_out(options, ("detach_positional",), "if `--tpdm-position-weight` is 0")
    if not options.tpdm_disentangle_weight:
        names = ["disentangle_start", "disentangle_warmup", "detach_positional"]
        names += ["generator_lr", "generator_steps", "new_generator"]
        _left_out(options, names, "if `--tpdm-disentangle-weight` is 0")


def check_tpdm_model(spec: ModelSpec | None, options: Namespace) -> ModelSpec:
    """A model's specification, if the losses fit the model.

    Raises:
        UserError: the model is not this package's (None), or has no disentangle module.
    """
    if spec is None:
        raise UserError("`--arch` must be one of tdo_plugin's for TPDM; it is not")
    if spec.tpdm_layer == 0:
        raise UserError("`--tdo-tpdm-layer` must be a source layer for TPDM; it is 0")
    if spec.tpdm_gate == "none":
        names = ("gate_prior", "gate_weight", "gate_temperature")
        _left_out(options, names, "if `--tdo-tpdm-gate` is none")
    elif options.tpdm_disentangle_weight == 0:
        raise UserError(
            "`--tpdm-disentangle-weight` must be positive if `--tdo-tpdm-gate` is not none; it is 0"
        )
    return spec


def _left_out(options: Namespace, names: Sequence[str], where: str) -> None:
    """Refuse options that have no effect."""
    reject_unused_options(options, TPDMOptions, where, [f"tpdm_{name}" for name in names])
