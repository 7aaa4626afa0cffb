"""What `tdo bench` says of the machine, and the utilisation of a GPU."""

import pytest
from speed import hardware, utilisation
from speed.batches import by_tokens
from speed.measuring import Measurement
from speed.plan import ALL, SMALL, Comparison, Setting
from speed.text import embedded

from tdo_plugin.analysis.cost import FlopModel
from tdo_plugin.modules.spec import ModelSpec

H100 = {"device": "cuda", "hardware": "NVIDIA H100 80GB HBM3", "precision": "bf16"}
BATCHES = by_tokens(embedded(4), 30, 300)


def test_peaks():
    peaks = {
        ("Tesla V100-SXM2-16GB", "bf16"): None,
        ("Tesla V100-SXM2-16GB", "fp16"): 125e12,
        ("NVIDIA A100-SXM4-80GB", "bf16"): 312e12,
        ("NVIDIA H100 80GB HBM3", "bf16"): 989e12,
        ("NVIDIA H100 PCIe", "bf16"): 756e12,
        ("NVIDIA L4", "bf16"): 121e12,
        ("NVIDIA L40S", "bf16"): None,
        ("Intel Xeon", "fp32"): None,
    }
    assert {card: hardware.peak(*card) for card in peaks} == peaks


def test_device_and_precision(refused, monkeypatch):
    assert hardware.device("cpu") == "cpu"
    assert hardware.precision("cpu", None) == hardware.precision("cpu", "fp32") == "fp32"
    monkeypatch.setattr(hardware, "gpus_here", lambda _: 0)
    assert hardware.device(None) == "cpu"
    with refused.raised("no GPU", names="--device"):
        hardware.device("cuda")
    monkeypatch.setattr(hardware, "gpus_here", lambda _: 2)
    assert hardware.device(None) == hardware.device("cuda") == "cuda"
    facts = hardware.facts("cpu", "fp32")
    assert facts["hardware"] and facts["cores"] >= 1 and facts["torch"]


def test_flops_of_a_token_are_the_cost_models():
    spec = ModelSpec(
        **{"topology": "decoder-only", "num_layers": 12, "target_layer": 6, "model_dim": 512},
        **{"num_heads": 8, "stage1_ffn_dim": 2048, "stage2_ffn_dim": 2048},
    )
    model, batch = FlopModel(spec, 50_004), BATCHES[0][:1]
    source, target = batch[0].lengths
    plain, contrasted = Setting(), Setting(instrucl=True)
    needed = utilisation.flops_per_token("two-stream", plain, (batch,))
    assert needed == model.training(source, target).total / target
    assert utilisation.flops_per_token("concatenating", plain, (batch,)) == needed
    more = utilisation.flops_per_token("two-stream", contrasted, (batch,)) - needed
    assert more == pytest.approx(model.instrucl(source, target, 9).total / target)
    assert 0.8 < utilisation.flops_per_token("stock", plain, (batch,)) / needed < 1


def test_utilisation_is_a_share_of_the_peak_where_it_is_known():
    costs = {
        system: [utilisation.flops_per_token(system, SMALL, BATCHES) / 989e12 / share]
        for system, share in zip(ALL, (0.5, 0.25, 0.2), strict=True)
    }
    measurement = Measurement(Comparison("training", SMALL), costs)
    rows = list(utilisation.rows(measurement, BATCHES, H100))
    assert [row.system for row in rows] == list(ALL)
    assert [row.ratio for row in rows] == pytest.approx([0.5, 0.25, 0.2])
    for other in ({"device": "cpu"}, {"hardware": "a card"}):
        assert not list(utilisation.rows(measurement, BATCHES, {**H100, **other}))
    decoding = Measurement(Comparison("decoding", SMALL), costs)
    assert not list(utilisation.rows(decoding, BATCHES, H100))
