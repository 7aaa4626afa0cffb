"""Models of the parity tests that know languages, as they start and off their start."""

import torch
from support.parity_cases import NUMBERS, PAD, VOCABULARY

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec


def build(**case):
    """A float64 model as it starts."""
    torch.manual_seed(1)
    previous = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return Builder(ModelSpec(**{**NUMBERS, **case}), PAD).build(VOCABULARY, VOCABULARY).eval()
    finally:
        torch.set_default_dtype(previous)


def moved(model):
    """The model with every parameter off its start."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model
