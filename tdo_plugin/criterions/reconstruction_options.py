"""Options of source reconstruction, its schedules, and what is refused (Gao et al., 2022)."""

import math
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field

from fairseq.dataclass import ChoiceEnum, FairseqDataclass

from tdo_plugin.criterions.unused_options import reject_unused_options
from tdo_plugin.errors import UserError

TASKS = ChoiceEnum(["lm", "ae"])
SCHEDULES = ChoiceEnum(["constant", "linear", "exponential"])
NORMALIZATIONS = ChoiceEnum(["sum", "mean"])
AT_TAU = 0.1  # share of its first value that lambda has at tau


@dataclass
class ReconstructionOptions(FairseqDataclass):
    """Options of the term; the paper's form is the default."""

    reconstruction_task: TASKS = field(  # type: ignore[valid-type]
        default="lm",
        metadata={
            "help": "what each position of the source is to predict: the next token (language "
            "modelling, the source's output shifted) or its own (auto-encoding, not shifted)"
        },
    )
    reconstruction_weight: float = field(
        default=1.0,
        metadata={"help": "lambda, the weight of the reconstruction in the sum, at the beginning"},
    )
    reconstruction_schedule: SCHEDULES = field(  # type: ignore[valid-type]
        default="constant",
        metadata={
            "help": "lambda over updates: constant; linear to a tenth at --reconstruction-tau, "
            "slower after; or a tenth every --reconstruction-tau updates"
        },
    )
    reconstruction_tau: float = field(
        default=0.0,
        metadata={
            "help": "updates after which lambda has come down to a tenth; below 1: that share of "
            "--max-update; the paper gives none, the configs of its tables have 0.2 (ours)"
        },
    )
    reconstruction_slope: float = field(
        default=0.0,
        metadata={
            "help": "linear: what lambda loses in each update after that, less than before it; the "
            "paper gives none; 0: as much as brings it to 0 at --max-update (ours)"
        },
    )
    reconstruction_normalization: NORMALIZATIONS = field(  # type: ignore[valid-type]
        default="sum",
        metadata={
            "help": "sum: over tokens, as the paper prints both losses, divided by the number of "
            "the target's; mean: in each batch the mean of a source token counts as that of a "
            "target token of the sentences with a source"
        },
    )


def tau_of(options: Namespace, updates: int) -> float:
    """Tau in updates, of a training that has so many at most."""
    tau = float(options.reconstruction_tau)
    return tau if tau >= 1 else tau * updates


def constant(options: Namespace, updates: int) -> Callable[[int], float]:
    """Lambda after t updates: always the same."""
    return lambda t: float(options.reconstruction_weight)


def linear(options: Namespace, updates: int) -> Callable[[int], float]:
    """Two steps: down to a tenth at tau, then slower (Wang et al., 2021a), to 0 (ours)."""
    first, tau = options.reconstruction_weight, tau_of(options, updates)
    slope = options.reconstruction_slope or AT_TAU * first / (updates - tau)

    def weight(t: int) -> float:
        if t <= tau:
            return float(first * (1 - (1 - AT_TAU) * t / tau))
        return max(float(AT_TAU * first - slope * (t - tau)), 0.0)

    return weight


def exponential(options: Namespace, updates: int) -> Callable[[int], float]:
    """A tenth every tau updates; the paper prints exp(-ln 0.1 t / tau), which would grow."""
    first, tau = options.reconstruction_weight, tau_of(options, updates)
    return lambda t: float(first * AT_TAU ** (t / tau))


_SCHEDULES = {"constant": constant, "linear": linear, "exponential": exponential}


def schedule(options: Namespace, updates: int) -> Callable[[int], float]:
    """Lambda after t updates, of a training that has so many at most (0: who knows).

    Raises:
        UserError: a value out of range, or one that would do nothing.
    """
    check_reconstruction_options(options, updates)
    return _SCHEDULES[options.reconstruction_schedule](options, updates)


def check_reconstruction_options(options: Namespace, updates: int) -> None:
    """Refuse values that make no sense; raises as :func:`schedule`."""

    def check(name: str, holds: bool, must: str) -> None:
        if not holds:
            value = getattr(options, f"reconstruction_{name}")
            raise UserError(f"`--reconstruction-{name}` must be {must}; it is {value}")

    def left_out(where: str, *names: str) -> None:
        wholes = [f"reconstruction_{name}" for name in names]
        reject_unused_options(options, ReconstructionOptions, where, wholes)

    for name in ("weight", "slope"):
        value = getattr(options, f"reconstruction_{name}")
        check(name, value >= 0 and math.isfinite(value), "finite and not negative")
    kind = options.reconstruction_schedule
    if not options.reconstruction_weight:
        where = "where `--reconstruction-weight` is 0"
        left_out(where, "task", "schedule", "tau", "slope", "normalization")
    if kind == "constant":
        left_out("where `--reconstruction-schedule` is constant", "tau", "slope")
        return
    tau = options.reconstruction_tau
    check("tau", 0 < tau < math.inf, f"above 0 and finite with a schedule that is {kind}")
    check("tau", tau >= 1 or updates > 0, "at least 1 where there is no --max-update")
    if kind != "linear":
        left_out(f"where `--reconstruction-schedule` is {kind}", "slope")
        return
    tau = tau_of(options, updates)
    before = (1 - AT_TAU) * options.reconstruction_weight / tau
    if not options.reconstruction_slope:
        latest = (1 - AT_TAU) * updates  # or the second step would be the steeper one
        check(
            "tau",
            tau < latest,
            f"below {latest:g}, nine tenths of --max-update, or --reconstruction-slope positive",
        )
    check(
        "slope",
        options.reconstruction_slope < before,
        f"below {before:g}, what lambda loses in each update before tau",
    )
