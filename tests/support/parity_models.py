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


def gradients(loss, model):
    """Of all parameters by name; zero where a loss does not depend on one."""
    named = dict(model.named_parameters())
    found = torch.autograd.grad(loss, list(named.values()), retain_graph=True, allow_unused=True)
    return {
        name: torch.zeros_like(parameter) if gradient is None else gradient
        for (name, parameter), gradient in zip(named.items(), found, strict=True)
    }
