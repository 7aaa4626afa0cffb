"""Attention over whole sequences runs in torch's fused kernels."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec

PAD = 1
SIZES = {"model_dim": 16, "num_heads": 2, "stage1_ffn_dim": 8, "stage2_ffn_dim": 8}
TOPOLOGIES = {
    "two stages": {"topology": "decoder-only", "num_layers": 2, "target_layer": 1},
    "causal source": {
        "topology": "decoder-only",
        "num_layers": 2,
        "source_attention": "causal",
    },
    "encoder-decoder": {"topology": "encoder-decoder", "encoder_layers": 1, "decoder_layers": 1},
    "merged": {
        "topology": "encoder-decoder",
        "encoder_layers": 1,
        "decoder_layers": 1,
        "decoder_attention": "merged",
    },
}
SOURCE = torch.tensor([[PAD, 5, 6, 7], [4, 5, 6, 7]])
PREVIOUS = torch.tensor([[2, 8, 9], [2, 8, PAD]])


def model(topology, **more):
    return Builder(ModelSpec(**TOPOLOGIES[topology], **SIZES, **more), PAD).build(12, 12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_training_needs_no_other_kernel(topology, dtype):
    """On a GPU as here: what is asked for is what a fused kernel can give, masks included."""
    built = model(topology).to(dtype)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        built.logits(built.decode(PREVIOUS, built.encode(SOURCE))).float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in built.parameters())
