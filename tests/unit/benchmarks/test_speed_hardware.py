"""What `tdo bench` says of the machine, and the utilisation of a GPU."""

import pytest
from speed import hardware, utilisation
from speed.batches import by_tokens
from speed.measuring import Measurement
from speed.plan import ALL, SMALL, Comparison, Setting
from speed.text import embedded

from tdo_plugin.analysis.cost import FlopModel
from tdo_plugin.errors import UserError
from tdo_plugin.modules.spec import ModelSpec

H100 = {"device": "cuda", "hardware": "NVIDIA H100 80GB HBM3", "precision": "bf16"}


@pytest.mark.parametrize(
    ("name", "precision", "tera"),
    [
        ("Tesla V100-SXM2-16GB", "fp16", 125.0),
        ("Tesla V100-SXM2-16GB", "bf16", None),
        ("NVIDIA A100-SXM4-80GB", "bf16", 312.0),
        ("NVIDIA A100-SXM4-80GB", "fp32", 19.5),
        ("NVIDIA H100 80GB HBM3", "bf16", 989.0),
        ("NVIDIA H100 PCIe", "bf16", 756.0),
        ("NVIDIA H200", "fp16", 989.0),
        ("NVIDIA RTX A6000", "fp16", 154.8),
        ("NVIDIA L4", "bf16", 121.0),
        ("NVIDIA L40S", "bf16", None),
        ("NVIDIA GeForce RTX 4090", "fp16", 165.2),
        ("Intel Xeon", "fp32", None),
    ],
)
def test_peaks(name, precision, tera):
    assert hardware.peak(name, precision) == (tera and tera * 1e12)


def test_a_cpu_computes_in_single_precision():
    assert hardware.device("cpu") == "cpu"
    assert hardware.precision("cpu", None) == hardware.precision("cpu", "fp32") == "fp32"
    with pytest.raises(UserError, match="`--precision` must be fp32 on a CPU; it is bf16"):
        hardware.precision("cpu", "bf16")


def test_a_gpu_must_be_there(monkeypatch):
    monkeypatch.setattr(hardware, "gpus_here", lambda _: 0)
    assert hardware.device(None) == "cpu"
    with pytest.raises(UserError, match=r"`--device` must be cpu .* it is cuda"):
        hardware.device("cuda")
    monkeypatch.setattr(hardware, "gpus_here", lambda _: 2)
    assert hardware.device(None) == hardware.device("cuda") == "cuda"


def test_the_machine_is_named():
    facts = hardware.facts("cpu", "fp32")
    assert facts["hardware"] and facts["cores"] >= 1 and facts["torch"]


@pytest.fixture(scope="module")
def batches():
    return by_tokens(embedded(4), 30, 300)


def test_flops_of_a_token_are_the_cost_models(batches):
    spec = ModelSpec(
        topology="decoder-only",
        num_layers=12,
        target_layer=6,
        model_dim=512,
        num_heads=8,
        stage1_ffn_dim=2048,
        stage2_ffn_dim=2048,
    )
    model, batch = FlopModel(spec, 50_004), batches[0][:1]
    source, target = batch[0].lengths
    plain, contrasted = Setting(), Setting(instrucl=True)
    needed = utilisation.flops_per_token("two-stream", plain, (batch,))
    assert needed == model.training(source, target).total / target
    assert utilisation.flops_per_token("concatenating", plain, (batch,)) == needed
    more = utilisation.flops_per_token("two-stream", contrasted, (batch,)) - needed
    assert more == pytest.approx(model.instrucl(source, target, 9).total / target)
    assert 0.8 < utilisation.flops_per_token("stock", plain, (batch,)) / needed < 1


def test_utilisation_is_a_share_of_the_peak(batches):
    costs = {
        system: [utilisation.flops_per_token(system, SMALL, batches) / 989e12 / share]
        for system, share in zip(ALL, (0.5, 0.25, 0.2), strict=True)
    }
    measurement = Measurement(Comparison("training", SMALL), costs)
    rows = list(utilisation.rows(measurement, batches, H100))
    assert [row.system for row in rows] == list(ALL)
    assert [row.ratio for row in rows] == pytest.approx([0.5, 0.25, 0.2])


@pytest.mark.parametrize(
    ("kind", "changes"),
    [("training", {"device": "cpu"}), ("training", {"hardware": "a card"}), ("decoding", {})],
)
def test_utilisation_is_left_out_where_it_is_not_known(kind, changes, batches):
    measurement = Measurement(Comparison(kind, SMALL), {system: [1.0] for system in ALL})
    assert not list(utilisation.rows(measurement, batches, {**H100, **changes}))
