"""Small models of each topology, built from numbers."""

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec

PAD = 1
SIZES = {"model_dim": 16, "num_heads": 2, "stage1_ffn_dim": 12, "stage2_ffn_dim": 20}
TWO_STAGE = {**SIZES, "topology": "decoder-only", "num_layers": 3, "target_layer": 1}
ENCODER_DECODER = {**SIZES, "topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 1}
MERGED = {**ENCODER_DECODER, "decoder_attention": "merged"}


def build(source=30, target=30, **numbers):
    return Builder(ModelSpec(**numbers), PAD).build(source, target)
