"""Lambda over updates (section 3.1.2), and values that are refused."""

import math
from argparse import Namespace
from dataclasses import fields

import pytest
from support.criterion_models import BASE, TOPOLOGIES
from support.data import databin

from tdo_plugin.criterions.reconstruction_options import ReconstructionOptions, schedule

TLM = ("--criterion", "label_smoothed_cross_entropy_tlm")


def options(**changes):
    defaults = {field.name: field.default for field in fields(ReconstructionOptions)}
    changes = {f"reconstruction_{name}": value for name, value in changes.items()}
    assert changes.keys() <= defaults.keys()
    return Namespace(**{**defaults, **changes})


def weights(times, updates=1000, **changes):
    weight_at = schedule(options(**changes), updates)
    return [weight_at(t) for t in times]


LINEAR = {"schedule": "linear", "tau": 200}


# the paper prints exp(-ln 0.1 t / tau), which is 10 at tau; a tenth is meant
EXPONENTIAL = {"schedule": "exponential", "tau": 200, "updates": 0}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"weight": 0.0, "updates": 0}, {0: 0, 10**6: 0}),
        ({"weight": 0.3, "updates": 0}, {0: 0.3, 5: 0.3, 10**6: 0.3}),
        (EXPONENTIAL, {0: 1, 100: math.sqrt(0.1), 200: 0.1, 400: 0.01}),
        ({**EXPONENTIAL, "weight": 0.5}, {0: 0.5, 200: 0.05, 400: 0.005}),
        # to a tenth at tau, and from there to 0 at the end of the training
        (LINEAR, {0: 1, 100: 0.55, 200: 0.1, 400: 0.075, 600: 0.05, 1000: 0, 1200: 0}),
        ({**LINEAR, "weight": 0.5}, {0: 0.5, 100: 0.275, 200: 0.05, 600: 0.025, 1200: 0}),
        ({**LINEAR, "tau": 10, "slope": 0.01, "updates": 0}, {10: 0.1, 15: 0.05, 20: 0, 40: 0}),
    ],
)
def test_weights_over_updates(changes, expected):
    assert weights(expected, **changes) == pytest.approx(list(expected.values()))


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_the_second_slope_is_the_smaller_one(weight):
    changes = {**LINEAR, "weight": weight}
    first, tau, later = weights((199, 200, 201), **changes)
    assert first - tau > tau - later > 0
    # which one that is a little slower is, too
    slope = 0.9 * weight / 200 - 1e-5
    assert weights((201,), **changes, slope=slope)[0] < later


@pytest.mark.parametrize("kind", ["linear", "exponential"])
def test_tau_as_a_share_of_the_updates(kind):
    times = (0, 50, 100, 300, 500)
    share = weights(times, updates=500, schedule=kind, tau=0.2)
    assert share == weights(times, updates=500, schedule=kind, tau=100.0)
    assert share[2] == pytest.approx(0.1)


def test_refused(refused):
    refused.rows(
        """
        fairseq-train {data} {tlm} --max-update 1000
            --reconstruction-weight -1                                              :: -weight
            --reconstruction-weight inf                                             :: -weight
            --reconstruction-schedule linear                                        :: -tau
            --reconstruction-tau 5                                                  :: -tau
            --reconstruction-slope 0.5                                              :: -slope
            --reconstruction-weight 0 --reconstruction-task ae                      :: -task
            --reconstruction-weight 0 {linear} --reconstruction-tau 10              :: -schedule
            --reconstruction-weight 0 --reconstruction-normalization mean           :: -normal
        fairseq-train {data} {tlm} --max-update 1000 --reconstruction-schedule exponential
            --reconstruction-tau 0                                                  :: -tau
            --reconstruction-tau inf                                                :: -tau
            --reconstruction-tau 5 --reconstruction-slope 0.5                       :: -slope
        fairseq-train {data} {tlm} --max-update 1000 {linear}
            --reconstruction-tau 10 --reconstruction-slope -0.1                     :: -slope
            --reconstruction-tau 1000                                               :: -tau
            --reconstruction-tau 0.9                                                :: -tau
            {half} --reconstruction-tau 100 --reconstruction-slope 0.005            :: -slope
        fairseq-train {data} {tlm} {linear} --reconstruction-tau 0.5                :: -tau
        """,
        data=databin(),
        tlm=(*BASE, *TOPOLOGIES["causal"], *TLM),
        linear=("--reconstruction-schedule", "linear"),
        half=("--reconstruction-weight", "0.5"),
    )
