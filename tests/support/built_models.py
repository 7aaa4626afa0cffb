"""Small models of each topology, built from numbers, and models with other weights."""

from contextlib import contextmanager

import torch

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec

PAD = 1
SIZES = {"model_dim": 16, "num_heads": 2, "stage1_ffn_dim": 12, "stage2_ffn_dim": 20}
TWO_STAGE = {**SIZES, "topology": "decoder-only", "num_layers": 3, "target_layer": 1}
ENCODER_DECODER = {**SIZES, "topology": "encoder-decoder", "encoder_layers": 2, "decoder_layers": 1}
MERGED = {**ENCODER_DECODER, "decoder_attention": "merged"}


def build(source=30, target=30, **numbers):
    return Builder(ModelSpec(**numbers), PAD).build(source, target)


def padded(rows, left=False, width=0):
    """Lists of token ids as a batch, padded on the left or on the right, at least so wide."""
    width = max(width, *map(len, rows))
    padding = [[PAD] * (width - len(row)) for row in rows]
    both = zip(padding, rows, strict=True)
    return torch.tensor([[*pad, *row] if left else [*row, *pad] for pad, row in both])


@contextmanager
def in_double_precision():
    """Tensors are made in double precision, where nothing else is said."""
    previous = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(previous)


def moved(model, scale=0.1):
    """The model with every parameter off its start, norms and biases too."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * scale)
    return model


def varied(model):
    """The model with weights so different that not every translation is a repetition."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = 2 if "positions" in name else 0.3
            parameter.add_(torch.randn_like(parameter) * scale * (parameter.dim() > 1))
    return model
