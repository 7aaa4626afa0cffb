"""The models of the parity tests, as they start."""

import torch
from support.built_models import in_double_precision
from support.parity_cases import NUMBERS, PAD, VOCABULARY

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec


def build(builder=Builder, **case):
    """A float64 model as it starts, made by a :class:`Builder` or one of its kind."""
    torch.manual_seed(1)
    with in_double_precision():
        spec = ModelSpec(**{**NUMBERS, **case})
        return builder(spec, PAD).build(VOCABULARY, VOCABULARY).eval()
