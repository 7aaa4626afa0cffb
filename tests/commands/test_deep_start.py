"""What `benchmarks/deep_start.py` shows of deep models: their start, and that they train."""

import deep_start
import pytest
import torch


@pytest.fixture(scope="module")
def started():
    """What a model of so many layers a side looks like at its start, measured once."""
    measurements = {}

    def measured(layers, norm, init, attention="separate"):
        key = layers, norm, init, attention
        if key not in measurements:
            options = {"norm": norm, "init": (init,), "decoder_attention": attention}
            model = deep_start.model(layers, **deep_start.sizes(128), **options)
            measurements[key] = deep_start.measure(model, deep_start.pairs(8))
        return measurements[key]

    return measured


@pytest.mark.parametrize("attention", ["separate", "merged"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("layers", [6, 12, 24])
def test_outputs_of_deep_sublayers_start_small(layers, norm, attention, started):
    """Two matrices, so that the variance falls with the square of the depth; without it does not.

    What is left of the deepest FFNs is mostly their biases, which start as they always do.
    """
    plain = started(layers, norm, "standard", attention)
    scaled = started(layers, norm, "depth-scaled", attention)
    quarter = started(layers, norm, "depth-scaled-quarter", attention)
    assert len(plain.outputs) == (5 if attention == "separate" else 4)
    for kind, by_layer in plain.outputs.items():
        assert len(by_layer) == layers
        assert min(by_layer) > 0.5 * by_layer[0], kind
        last = [start.outputs[kind][-1] / start.outputs[kind][0] for start in (scaled, quarter)]
        assert last[0] < 4 / layers**2, kind
        assert 0.3 / layers < last[1] < 4 / layers, kind


@pytest.mark.parametrize("attention", ["separate", "merged"])
def test_a_pre_norm_stream_does_not_grow_with_the_depth(attention, started):
    for side in ("encoder", "decoder"):
        growth = {}
        for init in ("standard", "depth-scaled"):
            streams = started(24, "pre", init, attention).streams[f"{side} feed_forward"]
            growth[init] = streams[-1] / streams[5]
        assert growth["standard"] > 3
        assert growth["depth-scaled"] < 1.25


@pytest.mark.parametrize("attention", ["separate", "merged"])
def test_the_gradient_of_a_deep_post_norm_decoder_dies_without_it(attention, started):
    """Of the first layer against the last: a hundredth or a twentieth, and less the deeper."""
    first = {
        (layers, init): started(layers, "post", init, attention).gradients["decoder"][0]
        for layers in (6, 12, 24)
        for init in ("standard", "depth-scaled", "depth-scaled-quarter")
    }
    assert first[6, "standard"] > first[12, "standard"] > first[24, "standard"]
    assert first[24, "standard"] < (0.03 if attention == "separate" else 0.08)
    for layers in (6, 12, 24):
        assert 1 < first[layers, "depth-scaled"] < 10
        assert 0.3 < first[layers, "depth-scaled-quarter"] < 3


def test_post_norm_trains_with_it_and_hardly_without_it():
    """12 layers a side learn eight short sentences by heart in 48 updates, without warm-up.

    Without the scaled start the loss (nats a token) is more than ten times as large by then.
    """
    words, losses = 12, {}
    tokens = torch.randint(4, words, (8, 4), generator=torch.Generator().manual_seed(3))
    batch = tokens, deep_start.shifted(tokens), tokens
    sizes = {"model_dim": 32, "num_heads": 2, "stage1_ffn_dim": 64, "stage2_ffn_dim": 64}
    for init in ("standard", "depth-scaled"):
        model = deep_start.model(12, words=words, norm="post", init=(init,), **sizes)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, betas=(0.9, 0.98), fused=True)
        for _ in range(48):
            optimizer.zero_grad()
            loss = deep_start.loss(model, *batch)
            loss.backward()
            optimizer.step()
        losses[init] = loss.item()
    assert losses["standard"] > 1
    assert losses["depth-scaled"] < 0.25
