"""Exported models with their own code: the same function, in a process without this package."""

import os
import sys

import pytest
import torch
from support.parity_cases import CASES, TWO_STAGE
from support.remote_code import OTHER, batch, core_of, exported, loaded_elsewhere, logits, preset
from torch.nn import functional as F

from tdo_plugin.models.presets import PRESETS
from tdo_plugin.pretrained import exported_folder

AWARE = {"num_languages": 3}
ENCODER_DECODER = {"topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 2}
METHODS = {
    "experts": {
        **{**TWO_STAGE, **AWARE, "ffn_experts": "target", "target_attention": "all"},
        **{"position_embedding": "rotary", "share_embeddings": "none"},
    },
    "one layer": {
        **{"topology": "decoder-only", "num_layers": 1, "norm": "pre"},
        "source_attention": "causal",
    },
    "opus": {
        **{**ENCODER_DECODER, **AWARE, "laln": "both", "lalt": "xavier"},
        "decoder_attention": "merged",
    },
    "target attention": {
        **{**ENCODER_DECODER, **AWARE, "target_attention": "cross", "norm": "pre"},
        **{"position_embedding": "none", "freeze_embeddings": True},
    },
    "adapters": {
        **{**TWO_STAGE, "adapter_dim": 4, "position_embedding": "learned"},
        **{"positions": "continuous", "source_sees_start": True, "share_embeddings": "decoder"},
    },
    "neurons": {
        **{**TWO_STAGE, **AWARE, "neuron_masks": "masks", "laln": "target", "masked_tags": 2},
        "init": ("depth-scaled", "identity-stage1"),
    },
    "gtpdm": {
        **{**TWO_STAGE, "tpdm_layer": 1, "tpdm_gate": "hard-concrete", "cut_residual": 2},
        **{"neuron_masks": "masks", "zero_shot_neurons": "general"},
    },
}
ALL = {
    **{f"case {number}": case for number, case in enumerate(CASES)},
    **{arch: preset(arch) for arch in PRESETS},
}


def loss(values, targets):
    """The mean cross-entropy of the targets, each one position to the left of what is read."""
    labels = torch.cat([targets[:, 1:], torch.ones_like(targets[:, :1])], 1)
    return float(F.cross_entropy(values.flatten(0, 1), labels.flatten(), ignore_index=1))


def check(cases, tmp_path, subtests, python=sys.executable):
    """Export, load elsewhere, compare; then restore and compare bit by bit."""
    given = batch()
    jobs, cores, losses = [], {}, {}
    for number, (name, case) in enumerate(cases.items()):
        # one name for all folders, so that transformers imports their code once
        out = tmp_path / str(number) / "model"
        cores[name] = core_of(**case)
        exported(cores[name], out)
        values = logits(cores[name], given)
        losses[name] = loss(values, given["target"])
        expected = out.with_name("expected.pt")
        torch.save({**given, "logits": values}, expected)
        jobs.append({"folder": str(out), "expected": str(expected)})
    results = loaded_elsewhere(jobs, tmp_path, tmp_path / "cache", python)
    for job, name, result in zip(jobs, cases, results, strict=True):
        with subtests.test(name):
            assert result["same_weights"] and result["finite_gradients"]
            assert result["different_samples"] and result["samples"] <= 1e-5, result
            gaps = {kind: result[kind] for kind in ("logits", "padding", "cache")}
            assert max(gaps.values()) <= 1e-10, gaps
            assert all(gap is not False and gap <= 1e-6 for gap in result["beams"]), result
            assert result["loss"] == pytest.approx(losses[name], abs=1e-10)
            restored = exported_folder.read(tmp_path / job["folder"]).model.core
            state = restored.state_dict()
            assert state.keys() == cores[name].state_dict().keys()
            for key, value in cores[name].state_dict().items():
                assert torch.equal(state[key], value.to(state[key].dtype)), key


@pytest.mark.full
def test_every_method(tmp_path, subtests):
    check(METHODS, tmp_path, subtests)


@pytest.mark.full
@pytest.mark.skipif(OTHER not in os.environ, reason=f"{OTHER} names no interpreter")
def test_every_method_in_another_version(tmp_path, subtests):
    check(METHODS, tmp_path, subtests, os.environ[OTHER])


@pytest.mark.full
def test_every_case_and_preset(tmp_path, subtests):
    check(ALL, tmp_path, subtests)
