"""How layers start: limits of depth-scaled matrices, what is the identity, what stays as it was."""

import math

import pytest
import torch
from support import built_models
from support.built_models import ENCODER_DECODER, MERGED, SIZES, TWO_STAGE

from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext


def build(**numbers):
    torch.manual_seed(0)
    return built_models.build(**numbers)


CASES = {
    "encoder-decoder": {**ENCODER_DECODER, "encoder_layers": 3, "decoder_layers": 4},
    "merged": {**MERGED, "decoder_layers": 3},
    "two stages": {
        **{**TWO_STAGE, "num_layers": 4, "target_layer": 2, "adaptation_dim": 8},
        **{"laln": "both", "lalt": "xavier", "num_languages": 3},
    },
    "one stage": {**TWO_STAGE, "target_layer": 0},
}
POWERS = {"depth-scaled": 1 / 2, "depth-scaled-quarter": 1 / 4}
STACKS = ("layers", "encoder_layers", "decoder_layers")


def layers_of(model):
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
    by_name = {
        f"{attention}.{name}": limit
        for attention, limit in attentions.items()
        for name in ("query", "key", "value")
    }
    by_name |= {f"{attention}.out": alone for attention in attentions}
    return by_name | {"feed_forward.inner": ffn, "feed_forward.outer": ffn}


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("init", POWERS)
@pytest.mark.parametrize("case", CASES)
def test_every_matrix_of_every_layer_is_uniform_within_its_limit(case, init, norm):
    model = build(**CASES[case], init=(init,), norm=norm)
    seen = 0
    for depth, layer in layers_of(model):
        expected = limits(depth, layer.feed_forward.inner.out_features, POWERS[init])
        for name, part in layer.named_modules():
            if isinstance(part, Linear):
                weight, limit = part.weight.detach(), expected[name]
                assert 0.9 * limit < weight.abs().max() <= limit, (depth, name)
                assert weight.std() == pytest.approx(limit / math.sqrt(3), rel=0.15), (depth, name)
                seen += 1
    parts = [module for _, layer in layers_of(model) for module in layer.modules()]
    assert seen == sum(isinstance(module, torch.nn.Linear) for module in parts) > 10


@pytest.mark.parametrize("init", POWERS)
@pytest.mark.parametrize("case", CASES)
def test_nothing_else_starts_otherwise(case, init):
    plain, scaled = build(**CASES[case], norm="pre"), build(**CASES[case], norm="pre", init=(init,))
    matrices = {
        id(part.weight)
        for _, layer in layers_of(scaled)
        for part in layer.modules()
        if isinstance(part, Linear)
    }
    # behind the layers, so that draws are others
    drawn_before = ("stack.bridge", "stack.output_block")
    for (name, parameter), unscaled in zip(
        scaled.named_parameters(), plain.parameters(), strict=True
    ):
        if id(parameter) in matrices:
            assert not torch.equal(parameter, unscaled), name
        elif name.startswith(drawn_before) and parameter.dim() > 1:
            assert parameter.std().item() == pytest.approx(unscaled.std().item(), rel=0.3), name
        elif not name.startswith((*drawn_before, "embeddings")):
            assert torch.equal(parameter, unscaled), name
    assert scaled.embeddings.source.weight.std().item() == pytest.approx(0.25, rel=0.1)


IDENTITIES = ("identity-stage1", "identity-adaptation", "identity-all")


def ends(module):
    """The parameters with which sublayers add to the residual stream."""
    attentions = ("attention", "cross_attention", "merged_attention")
    names = (*(f"{attention}.out" for attention in attentions), "feed_forward.outer")
    return {
        id(part.weight if kind == "weight" else part.bias)
        for name, part in module.named_modules()
        if name.endswith(names)
        for kind in ("weight", "bias")
    }


def parts(model, identity):
    """What starts as the identity."""
    stack = model.stack
    if identity == "identity-adaptation":
        return [stack.bridge, stack.output_block]
    layers = [layer for _, layer in layers_of(model)]
    stage1 = model.spec.encoder_layers or model.spec.target_layer
    return layers if identity == "identity-all" else layers[:stage1]


@pytest.mark.parametrize("draw", ["standard", "depth-scaled"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("identity", IDENTITIES)
@pytest.mark.parametrize("case", CASES)
def test_identity_is_zero_where_it_is_asked_for_and_changes_nothing_else(
    case, identity, norm, draw
):
    first_stage = case != "one stage"
    if not (first_stage or identity == "identity-all"):
        return
    numbers = {**CASES[case], "norm": norm, "adaptation_dim": 8 if first_stage else 0}
    usual, started = build(**numbers, init=(draw,)), build(**numbers, init=(draw, identity))
    zero = {name for part in parts(started, identity) for name in ends(part)}
    for (name, parameter), usual_parameter in zip(
        started.named_parameters(), usual.parameters(), strict=True
    ):
        if id(parameter) in zero:
            assert not parameter.any(), name
        else:
            assert torch.equal(parameter, usual_parameter), name
    assert len(zero) > 3


@pytest.mark.parametrize("case", CASES)
def test_layers_at_the_identity_hand_their_input_on(case):
    model = build(**CASES[case], norm="pre", init=("identity-all",))
    layers = range(1, (model.spec.entry_layer or model.spec.source_layers) + 1)
    tokens = torch.tensor([[5, 6, 7, 2]])
    languages = (
        TokenContext.of_targets(torch.tensor([1])) if model.spec.language_aware else NO_CONTEXT
    )
    state = model.encode(tokens, layers, languages)
    embedded = math.sqrt(SIZES["model_dim"]) * model.embeddings.source(tokens)
    embedded = embedded + model.source_positions(torch.tensor([[2, 3, 4, 5]]), 5)
    for layer in layers:
        assert torch.equal(state.layer_outputs[layer], embedded)
