"""Lambda over updates (section 3.1.2), and values that are refused."""

import math
from argparse import Namespace
from dataclasses import fields

import pytest

from tdo_plugin.criterions.reconstruction_options import ReconstructionOptions, schedule
from tdo_plugin.errors import UserError


def options(**changes):
    defaults = {field.name: field.default for field in fields(ReconstructionOptions)}
    changes = {f"reconstruction_{name}": value for name, value in changes.items()}
    assert changes.keys() <= defaults.keys()
    return Namespace(**{**defaults, **changes})


def weights(times, updates=1000, **changes):
    weight_at = schedule(options(**changes), updates)
    return [weight_at(t) for t in times]


@pytest.mark.parametrize("weight", [0.0, 1.0, 0.3])
def test_constant(weight):
    assert weights((0, 5, 10**6), weight=weight, updates=0) == [weight] * 3


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_exponential(weight):
    """The paper prints exp(-ln 0.1 t / tau), which is 10 at tau; a tenth is meant."""
    changes = {"schedule": "exponential", "tau": 200, "weight": weight}
    expected = [weight, weight * math.sqrt(0.1), weight * 0.1, weight * 0.01]
    assert weights((0, 100, 200, 400), **changes, updates=0) == pytest.approx(expected)


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_linear_in_two_steps(weight):
    """1 at the beginning, a tenth at tau, and from there to 0 at the end of the training."""
    changes = {"schedule": "linear", "tau": 200, "weight": weight}
    expected = [1, 0.55, 0.1, 0.075, 0.05, 0, 0]
    times = (0, 100, 200, 400, 600, 1000, 1200)
    assert weights(times, **changes) == pytest.approx([weight * factor for factor in expected])
    # the second slope is the smaller one
    first, tau, later = weights((199, 200, 201), **changes)
    assert first - tau > tau - later > 0
    # which one that is a little slower is, too
    slope = 0.9 * weight / 200 - 1e-5
    assert weights((201,), **changes, slope=slope)[0] < later


def test_the_second_slope():
    changes = {"schedule": "linear", "tau": 10, "slope": 0.01}
    assert weights((10, 15, 20, 40), **changes, updates=0) == pytest.approx([0.1, 0.05, 0, 0])


@pytest.mark.parametrize("kind", ["linear", "exponential"])
def test_tau_as_a_share_of_the_updates(kind):
    times = (0, 50, 100, 300, 500)
    share = weights(times, updates=500, schedule=kind, tau=0.2)
    assert share == weights(times, updates=500, schedule=kind, tau=100.0)
    assert share[2] == pytest.approx(0.1)


LINEAR = {"schedule": "linear", "tau": 10}
REFUSED = {
    "a negative weight": ({"weight": -1.0}, "`--reconstruction-weight` must be finite and not"),
    "no number": ({"weight": math.nan}, "`--reconstruction-weight` must be finite"),
    "infinite": ({"weight": math.inf}, "`--reconstruction-weight` must be finite"),
    "a negative slope": ({**LINEAR, "slope": -0.1}, "`--reconstruction-slope` must be finite and"),
    "no tau": (
        {"schedule": "linear"},
        "`--reconstruction-tau` must be above 0 and finite if",
    ),
    "tau 0": (
        {"schedule": "exponential", "tau": 0},
        "`--reconstruction-tau` must be above 0 and finite if the schedule is expon",
    ),
    "tau is no number": (
        {"schedule": "exponential", "tau": math.nan},
        "`--reconstruction-tau` must be above 0 and finite",
    ),
    "tau without a schedule": (
        {"tau": 5},
        "`--reconstruction-tau` must not be set if `--reconstruction-schedule` is constant",
    ),
    "a slope without a schedule": (
        {"slope": 0.5},
        "`--reconstruction-slope` must not be set if `--reconstruction-schedule` is constant",
    ),
    "a slope of the exponential": (
        {"schedule": "exponential", "tau": 5, "slope": 0.5},
        "`--reconstruction-slope` must not be set if `--reconstruction-schedule` is expon",
    ),
    "tau after the end": (
        {"schedule": "linear", "tau": 1000},
        "`--reconstruction-tau` must be below 900, nine tenths of --max-update, or --recon",
    ),
    "a second step that is steeper": (
        {"schedule": "linear", "tau": 0.9},
        "`--reconstruction-tau` must be below 900, nine tenths of --max-update, or --recon",
    ),
    "a steeper slope": (
        {"schedule": "linear", "tau": 100, "weight": 0.5, "slope": 0.005},
        "`--reconstruction-slope` must be below 0.0045, the decrease of lambda per update before",
    ),
    "a task of nothing": (
        {"task": "ae", "weight": 0.0},
        "`--reconstruction-task` must not be set if `--reconstruction-weight` is 0",
    ),
    "a schedule of nothing": (
        {**LINEAR, "weight": 0.0},
        "`--reconstruction-schedule` must not be set if `--reconstruction-weight` is 0",
    ),
    "normalization of nothing": (
        {"normalization": "mean", "weight": 0.0},
        "`--reconstruction-normalization` must not be set if `--reconstruction-weight` is 0",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    changes, message = REFUSED[case]
    with pytest.raises(UserError, match=message):
        schedule(options(**changes), 1000)


def test_a_share_of_nobody_knows_how_many_updates():
    with pytest.raises(UserError, match="must be at least 1 without --max-update"):
        schedule(options(schedule="exponential", tau=0.5), 0)
