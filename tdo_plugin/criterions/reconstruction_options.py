"""Options of source reconstruction, its schedules, and their checks (Gao et al., 2022)."""

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
AT_TAU = 0.1  # lambda at tau, as a share of its initial value


@dataclass
class ReconstructionOptions(FairseqDataclass):
    """Options of the reconstruction term; the defaults are the paper's form."""

    reconstruction_task: TASKS = field(  # type: ignore[valid-type]
        default="lm",
        metadata={
            "help": "prediction target of each source position: the next token (lm: language "
            "modelling, shifted) or its own token (ae: auto-encoding)"
        },
    )
    reconstruction_weight: float = field(
        default=1.0,
        metadata={"help": "initial weight lambda of the reconstruction loss"},
    )
    reconstruction_schedule: SCHEDULES = field(  # type: ignore[valid-type]
        default="constant",
        metadata={
            "help": "lambda over updates: constant; linear: to a tenth at --reconstruction-tau, "
            "then slower; exponential: by a factor of 10 every --reconstruction-tau updates"
        },
    )
    reconstruction_tau: float = field(
        default=0.0,
        metadata={
            "help": "updates until lambda is a tenth of its initial value; below 1: as a share of "
            "--max-update; the paper gives no value, the configs of its tables have 0.2 (ours)"
        },
    )
    reconstruction_slope: float = field(
        default=0.0,
        metadata={
            "help": "linear: decrease of lambda per update after tau, less than before tau; the "
            "paper gives no value; 0: so that lambda is 0 at --max-update (ours)"
        },
    )
    reconstruction_normalization: NORMALIZATIONS = field(  # type: ignore[valid-type]
        default="sum",
        metadata={
            "help": "sum: sum over source tokens, as the paper prints it, divided like the "
            "cross-entropy by the number of target tokens; mean: in each batch the mean over "
            "source tokens weighs as much as that over target tokens of sentences with a source"
        },
    )


def tau_of(options: Namespace, updates: int) -> float:
    """Tau in updates, for a training of ``updates`` updates at most."""
    tau = float(options.reconstruction_tau)
    return tau if tau >= 1 else tau * updates


def constant(options: Namespace, updates: int) -> Callable[[int], float]:
    """Lambda after t updates: constant."""
    return lambda t: float(options.reconstruction_weight)


def linear(options: Namespace, updates: int) -> Callable[[int], float]:
    """Lambda falls linearly to a tenth at tau, then slower (Wang et al., 2021a), to 0 (ours)."""
    first, tau = options.reconstruction_weight, tau_of(options, updates)
    slope = options.reconstruction_slope or AT_TAU * first / (updates - tau)

    def weight(t: int) -> float:
        if t <= tau:
            return float(first * (1 - (1 - AT_TAU) * t / tau))
        return max(float(AT_TAU * first - slope * (t - tau)), 0.0)

    return weight


def exponential(options: Namespace, updates: int) -> Callable[[int], float]:
    """Divided by 10 every tau updates; the paper prints exp(-ln 0.1 t / tau), which would grow."""
    first, tau = options.reconstruction_weight, tau_of(options, updates)
    return lambda t: float(first * AT_TAU ** (t / tau))


_SCHEDULES = {"constant": constant, "linear": linear, "exponential": exponential}


def schedule(options: Namespace, updates: int) -> Callable[[int], float]:
    """Lambda after t updates, for a training of ``updates`` updates at most (0: unknown).

    Raises:
        UserError: a value is out of range or has no effect.
    """
    check_reconstruction_options(options, updates)
    return _SCHEDULES[options.reconstruction_schedule](options, updates)


def check_reconstruction_options(options: Namespace, updates: int) -> None:
    """Refuse invalid values; raises as :func:`schedule` does."""

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
        where = "if `--reconstruction-weight` is 0"
        left_out(where, "task", "schedule", "tau", "slope", "normalization")
    if kind == "constant":
        left_out("if `--reconstruction-schedule` is constant", "tau", "slope")
        return
    tau = options.reconstruction_tau
    check("tau", 0 < tau < math.inf, f"above 0 and finite if the schedule is {kind}")
    check("tau", tau >= 1 or updates > 0, "at least 1 without --max-update")
    if kind != "linear":
        left_out(f"if `--reconstruction-schedule` is {kind}", "slope")
        return
    tau = tau_of(options, updates)
    before = (1 - AT_TAU) * options.reconstruction_weight / tau
    if not options.reconstruction_slope:
        latest = (1 - AT_TAU) * updates  # with a later tau the second step would be steeper
        check(
            "tau",
            tau < latest,
            f"below {latest:g}, nine tenths of --max-update, or --reconstruction-slope positive",
        )
    check(
        "slope",
        options.reconstruction_slope < before,
        f"below {before:g}, the decrease of lambda per update before tau",
    )
