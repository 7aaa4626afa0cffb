"""Depth-scaled starts: limits of every matrix, what stays as it was, and what they are for."""

import math

import pytest
import torch

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.spec import ModelSpec

SIZES = {"model_dim": 16, "num_heads": 2, "stage1_ffn_dim": 24, "stage2_ffn_dim": 40}
CASES = {
    "encoder-decoder": {"topology": "encoder-decoder", "encoder_layers": 3, "decoder_layers": 4},
    "merged": {
        "topology": "encoder-decoder",
        "encoder_layers": 2,
        "decoder_layers": 3,
        "decoder_attention": "merged",
    },
    "two stages": {
        "topology": "decoder-only",
        "num_layers": 4,
        "target_layer": 2,
        "adaptation_dim": 8,
        "laln": "both",
        "lalt": "xavier",
        "num_languages": 3,
    },
    "one stage": {"topology": "decoder-only", "num_layers": 3},
}
POWERS = {"depth-scaled": 1 / 2, "depth-scaled-quarter": 1 / 4}
STACKS = ("layers", "encoder_layers", "decoder_layers")


def build(**numbers):
    torch.manual_seed(0)
    return Builder(ModelSpec(**{**SIZES, **numbers}), 1).build(30, 30)


def layers_of(model):
    """Each layer with its depth, from 1 in each stack."""
    return [
        (depth, layer)
        for name in STACKS
        for depth, layer in enumerate(getattr(model.stack, name, ()), start=1)
    ]


def limits(depth, inner, power):
    """By name: Xavier's limit, of one matrix (D, 3 D) for self-attention, over a power of depth."""
    width, scale = SIZES["model_dim"], math.sqrt(6) / depth**power
    joint = scale / math.sqrt(width + 3 * width)
    alone = scale / math.sqrt(width + width)
    ffn = scale / math.sqrt(width + inner)
    attentions = {"attention": joint, "cross_attention": alone, "merged_attention": alone}
    found = {
        f"{attention}.{name}": limit
        for attention, limit in attentions.items()
        for name in ("query", "key", "value")
    }
    found |= {f"{attention}.out": alone for attention in attentions}
    return found | {"feed_forward.inner": ffn, "feed_forward.outer": ffn}


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("init", POWERS)
@pytest.mark.parametrize("case", CASES)
def test_every_matrix_of_every_layer_is_uniform_within_its_limit(case, init, norm):
    model = build(**CASES[case], init=init, norm=norm)
    seen = 0
    for depth, layer in layers_of(model):
        expected = limits(depth, layer.feed_forward.inner.out_features, POWERS[init])
        for name, part in layer.named_modules():
            if isinstance(part, Linear):
                weight, limit = part.weight.detach(), expected[name]
                assert 0.9 * limit < weight.abs().max() <= limit, (depth, name)
                assert weight.std() == pytest.approx(limit / math.sqrt(3), rel=0.15), (depth, name)
                seen += 1
    parts = [one for _, layer in layers_of(model) for one in layer.modules()]
    assert seen == sum(isinstance(one, torch.nn.Linear) for one in parts) > 10


@pytest.mark.parametrize("init", POWERS)
@pytest.mark.parametrize("case", CASES)
def test_nothing_else_starts_otherwise(case, init):
    """Embeddings, norms, biases, adaptation and the transformations of languages."""
    plain, scaled = build(**CASES[case], norm="pre"), build(**CASES[case], norm="pre", init=init)
    matrices = {
        id(part.weight)
        for _, layer in layers_of(scaled)
        for part in layer.modules()
        if isinstance(part, Linear)
    }
    drawn_before = ("stack.entry", "stack.exit")  # behind the layers, so that draws are others
    for (name, one), other in zip(scaled.named_parameters(), plain.parameters(), strict=True):
        if id(one) in matrices:
            assert not torch.equal(one, other), name
        elif name.startswith(drawn_before) and one.dim() > 1:
            assert one.std().item() == pytest.approx(other.std().item(), rel=0.3), name
        elif not name.startswith((*drawn_before, "embeddings")):
            assert torch.equal(one, other), name
    assert scaled.embeddings.source.weight.std().item() == pytest.approx(0.25, rel=0.1)
