"""Models and batches that the parity tests share."""

import pytest
import torch
from speed.reference_ops import ReferenceBuilder
from support.languages import tell_languages
from support.parity_cases import EOS, NUMBERS, PAD, VOCABULARY

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.spec import ModelSpec


@pytest.fixture
def make_model():
    """Builds a float64 model with every parameter moved off its start, norms and biases too."""

    def make(ops=(), **case):
        torch.manual_seed(1)
        previous = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            spec = ModelSpec(**{**NUMBERS, **case})
            builder = ReferenceBuilder(spec, PAD, ops) if ops else Builder(spec, PAD)
            model = builder.build(VOCABULARY, VOCABULARY)
        finally:
            torch.set_default_dtype(previous)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
        return tell_languages(model).eval()

    return make


@pytest.fixture
def batch():
    """Source padded on the left, previous output and target on the right; lengths 1, odd, even."""
    torch.manual_seed(2)
    source_lengths, target_lengths = (5, 3, 1, 4), (4, 1, 6, 3)
    source = torch.full((4, 5), PAD)
    previous, target = torch.full((4, 6), PAD), torch.full((4, 6), PAD)
    for row, (long, wide) in enumerate(zip(source_lengths, target_lengths, strict=True)):
        source[row, 5 - long :] = torch.randint(4, VOCABULARY, (long,))
        words = torch.randint(4, VOCABULARY, (wide - 1,))
        target[row, :wide] = torch.cat([words, torch.tensor([EOS])])
        previous[row, :wide] = torch.cat([torch.tensor([EOS]), words])
    return source, previous, target
