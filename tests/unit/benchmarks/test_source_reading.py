"""The experiment on how the second stage reads the source."""

from importlib import import_module
from types import SimpleNamespace

import pytest
import torch

from tdo_plugin.errors import UserError
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec

SPEC = ModelSpec(
    topology="decoder-only",
    num_layers=4,
    target_layer=2,
    model_dim=16,
    num_heads=2,
    stage1_ffn_dim=32,
    stage2_ffn_dim=32,
    adaptation_dim=0,
    dropout=0.0,
)
OWN = {
    "shared-beside": 0,
    "query-beside": 1,
    "key-value-beside": 2,
    "query-key-value-beside": 3,
    "own-beside": 4,
    "shared-after": 0,
    "own-after": 4,
}


@pytest.fixture(scope="module")
def experiment():
    return import_module("source_reading")  # registers models, which other tests do not want


def size(model):
    return sum(
        weight.numel() for weight in {id(weight): weight for weight in model.parameters()}.values()
    )


@pytest.mark.parametrize("name", OWN)
def test_what_is_its_own_is_counted_and_trained(experiment, monkeypatch, name):
    monkeypatch.setenv("SOURCE_READING", name)
    torch.manual_seed(0)
    model = experiment.ReadingBuilder(SPEC, 1).build(20, 20)
    projection = 16 * 16 + 16
    norm = 2 * 16 * ("after" in name)
    extra = SPEC.num_layers - SPEC.target_layer
    assert size(model) == size(Builder(SPEC, 1).build(20, 20)) + extra * (
        OWN[name] * projection + norm
    )
    src, prev = torch.randint(4, 20, (3, 5)), torch.randint(4, 20, (3, 6))
    _, features = model([SourceRequest(src)], prev)
    torch.testing.assert_close(features, model.decode(prev, model.encode(src)))
    model.logits(features).square().sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


@pytest.mark.parametrize("name", OWN)
def test_no_look_ahead(experiment, monkeypatch, name):
    monkeypatch.setenv("SOURCE_READING", name)
    torch.manual_seed(0)
    model = experiment.ReadingBuilder(SPEC, 1).build(20, 20).eval()
    src, prev = torch.randint(4, 20, (2, 5)), torch.randint(4, 20, (2, 6))
    changed = prev.clone()
    changed[:, 4] = (prev[:, 4] - 4 + 1) % 16 + 4
    before, after = (model.logits(model.decode(x, model.encode(src))) for x in (prev, changed))
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


@pytest.mark.parametrize("name", OWN)
def test_padding_is_not_read(experiment, monkeypatch, name):
    monkeypatch.setenv("SOURCE_READING", name)
    torch.manual_seed(0)
    model = experiment.ReadingBuilder(SPEC, 1).build(20, 20).double().eval()
    src, prev = torch.randint(4, 20, (2, 5)), torch.randint(4, 20, (2, 6))
    src[0, :2] = 1
    both = model.logits(model.decode(prev, model.encode(src)))
    alone = model.logits(model.decode(prev[:1], model.encode(src[:1, 2:])))
    torch.testing.assert_close(both[:1], alone, rtol=0, atol=1e-9)


def test_all_are_tested(experiment):
    assert set(OWN) == set(experiment.READINGS)


def test_an_unknown_name_is_refused(experiment, monkeypatch):
    monkeypatch.setenv("SOURCE_READING", "sideways")
    with pytest.raises(UserError, match="SOURCE_READING"):
        experiment.variant()


def test_the_script_refuses_what_is_not_there(root, run, tmp_path):
    script = root / "benchmarks" / "source_reading" / "run.py"
    for words, message in (
        ([tmp_path / "none"], "`DATA` must be a data folder"),
        ([tmp_path, "--updates", "300"], "`--updates` must be a multiple of 200; it is 300"),
        ([tmp_path, "--variants", "joint,x"], "; it has x"),
    ):
        refused = run("python", script, *words)
        assert refused.returncode == 2 and message in refused.stderr.splitlines()[-1]


def test_the_script_prints_what_is_logged_last(experiment, monkeypatch, tmp_path, capsys):
    script = import_module("source_reading.run")
    log = "train_inner | nll_loss=5.1,\ntrain_inner | epoch 1, nll_loss=2.38, ppl=5.2\n"
    done = SimpleNamespace(stdout=log, returncode=0)
    monkeypatch.setattr(script.subprocess, "run", lambda *words, **options: done)
    monkeypatch.setattr("sys.argv", ["run.py", str(tmp_path), "--variants", "joint"])
    monkeypatch.chdir(tmp_path)
    assert script.main() == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"| {'joint':22} | {'2.38':>14} |"
    done.returncode = 1
    assert script.main() == 1 and "joint-1.log" in capsys.readouterr().err
