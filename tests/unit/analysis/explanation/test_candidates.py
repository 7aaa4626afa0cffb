"""Candidates and preference of one sentence."""

import numpy as np
import pytest
import torch
from support.built_models import ENCODER_DECODER, TWO_STAGE, build

from tdo_plugin.analysis.explanation.attention_weights import weights_of
from tdo_plugin.analysis.explanation.candidates import steps_of
from tdo_plugin.analysis.explanation.sentence_preference import sentence_preference
from tdo_plugin.modules.token_context import NO_CONTEXT


def test_there_are_no_more_candidates_than_tokens():
    """What else is said of them is tested in tests/commands/test_serve_answers.py."""
    (step,) = steps_of(torch.zeros(1, 3), torch.tensor([1]), 10)
    assert len(step.top) == 3 and step.rank == 1


def test_weights_in_half_precision_sum_to_one():
    query, key = torch.randn(1, 2, 3, 4).half(), torch.randn(1, 2, 5, 4).half()
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2)
    weights = weights_of(query, key, mask)
    assert weights.dtype == torch.float32 and not weights[:, 0, 3:].any()
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))


def test_weights_under_torch_s_own_causal_mask():
    from torch.nn.attention.bias import causal_lower_right

    query, key = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4)
    boolean = torch.ones(3, 5, dtype=torch.bool).tril(2)
    described = weights_of(query, key, causal_lower_right(3, 5))
    assert torch.equal(described, weights_of(query, key, boolean))


@pytest.mark.parametrize("numbers", [TWO_STAGE, ENCODER_DECODER])
def test_preference_is_a_correlation_of_mean_states(numbers):
    torch.manual_seed(0)
    model = build(**numbers).eval()
    tokens = {
        ("de", "fr"): torch.tensor([[5, 8, 9, 10, 2]]),
        ("de", "de"): torch.tensor([[4, 8, 9, 10, 2]]),
        ("fr", "fr"): torch.tensor([[5, 12, 13, 2]]),
    }
    layers = range(1, model.spec.source_layers + 1)
    means = {
        name: {
            layer: state[0].mean(0).detach().double().numpy()
            for layer, state in model.encode(source, layers).layer_outputs.items()
        }
        for name, source in tokens.items()
    }

    def source_of(language, tag):
        return tokens[language, tag], NO_CONTEXT

    preferences = sentence_preference(model, source_of, "de-fr")
    assert [preference.layer for preference in preferences] == [*layers]
    for preference in preferences:
        states = {name: by_layer[preference.layer] for name, by_layer in means.items()}
        own = abs(np.corrcoef(states["de", "fr"], states["de", "de"])[0, 1])
        other = abs(np.corrcoef(states["de", "fr"], states["fr", "fr"])[0, 1])
        assert preference.rho_source == pytest.approx(own, abs=1e-6)
        assert preference.rho_target == pytest.approx(other, abs=1e-6)
        assert preference.score == pytest.approx(other / (own + other), abs=1e-6)
