"""The experiment on how the second stage reads the source."""

from importlib import import_module
from types import SimpleNamespace

import pytest
import torch

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec

SPEC = ModelSpec(
    **{"topology": "decoder-only", "num_layers": 4, "target_layer": 2, "model_dim": 16},
    **{"num_heads": 2, "stage1_ffn_dim": 32, "stage2_ffn_dim": 32, "adaptation_dim": 0},
    dropout=0.0,
)
OWN = {
    **{"shared-beside": 0, "query-beside": 1, "key-value-beside": 2},
    **{"query-key-value-beside": 3, "own-beside": 4, "shared-after": 0, "own-after": 4},
}


@pytest.fixture(scope="module")
def experiment():
    return import_module("source_reading")  # registers models, which other tests do not want


@pytest.mark.parametrize("name", OWN)
def test_parameters_and_what_a_position_reads(name, experiment, monkeypatch):
    """What is its own is counted and trained, nothing is read ahead, nor is padding."""
    monkeypatch.setenv("SOURCE_READING", name)
    model = experiment.ReadingBuilder(SPEC, 1).build(20, 20).double()
    projection, norm = 16 * 16 + 16, 2 * 16 * ("after" in name)
    more = (SPEC.num_layers - SPEC.target_layer) * (OWN[name] * projection + norm)
    shared = Builder(SPEC, 1).build(20, 20)
    counts = [sum(weight.numel() for weight in each.parameters()) for each in (model, shared)]
    assert counts[0] == counts[1] + more

    src, prev = torch.randint(4, 20, (3, 5)), torch.randint(4, 20, (3, 6))
    src[0, :2] = 1
    _, features = model([SourceRequest(src)], prev)
    torch.testing.assert_close(features, model.decode(prev, model.encode(src)))
    logits = model.logits(features)
    logits.square().sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())
    alone = model.logits(model.decode(prev[:1], model.encode(src[:1, 2:])))
    torch.testing.assert_close(logits[:1], alone, rtol=0, atol=1e-9)
    prev[:, 4] = (prev[:, 4] - 4 + 1) % 16 + 4
    changed = model.logits(model.decode(prev, model.encode(src)))
    torch.testing.assert_close(logits[:, :4], changed[:, :4], rtol=0, atol=1e-9)
    assert not torch.allclose(logits[:, 4:], changed[:, 4:])


def test_all_are_tested_and_another_is_refused(experiment, refused, monkeypatch):
    assert set(OWN) == set(experiment.READINGS)
    monkeypatch.setenv("SOURCE_READING", "sideways")
    with refused.raised("another name", names="SOURCE_READING"):
        experiment.variant()


def test_the_script_refuses_what_is_not_there(root, run, tmp_path):
    for words, message in (
        ([tmp_path / "none"], "`DATA` must be a data folder"),
        ([tmp_path, "--updates", "300"], "`--updates` must be a multiple of 200; it is 300"),
        ([tmp_path, "--variants", "joint,x"], "; it has x"),
    ):
        done = run("python", root / "benchmarks" / "source_reading" / "run.py", *words)
        assert done.returncode == 2 and message in done.stderr.splitlines()[-1]


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
