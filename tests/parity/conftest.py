"""Models and batches that the parity tests share."""

from functools import partial

import pytest
import torch
from speed.reference_ops import ReferenceBuilder
from support.built_models import moved
from support.parity_cases import EOS, PAD, VOCABULARY, build, tell_languages

from tdo_plugin.modules.builder import Builder


@pytest.fixture
def make_model():
    """Builds a float64 model with every parameter moved off its start, norms and biases too."""

    def make(ops=(), **case):
        builder = partial(ReferenceBuilder, ops=ops) if ops else Builder
        return tell_languages(moved(build(builder, **case))).eval()

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
