"""Neural metrics refuse libraries with which a model's folder could run code."""

from importlib import metadata

import pytest

from tdo_plugin.metrics import weights
from tdo_plugin.metrics.bertscore import BertScore
from tdo_plugin.metrics.comet import Comet


@pytest.fixture
def installed(monkeypatch):
    """`installed(version, kernels)`: what is beside each other."""

    def pretend(version, kernels):
        monkeypatch.setattr(metadata, "version", lambda name: version)
        monkeypatch.setattr(weights, "find_spec", lambda name: object() if kernels else None)

    return pretend


@pytest.mark.parametrize("metric", [BertScore, Comet])
def test_neural_metrics_refuse_kernels_beside_an_old_library(installed, metric, refused):
    installed("4.57.6", True)
    with refused.raised("kernels", names="is 4.57.6 (pip uninstall kernels"):
        metric()


@pytest.mark.parametrize(("version", "kernels"), [("4.57.6", False), ("5.3.0", True)])
def test_others_are_taken(installed, version, kernels):
    installed(version, kernels)
    weights.refuse_foreign_kernels()
