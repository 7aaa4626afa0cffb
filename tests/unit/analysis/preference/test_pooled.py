"""Means of states over the tokens of each sentence, of every topology."""

import pytest
import torch
from support.built_models import PAD
from support.probed_models import SENTENCES, TOPOLOGIES, batch, core, languages

from tdo_plugin.analysis.preference.pooled import pooled_outputs

LAYERS = (1, 2, 3)


def alone(model, number):
    """Layers' means of one sentence without padding; tag and end symbol count."""
    context = languages(model, 3)[number : number + 1]
    state = model.encode(batch([SENTENCES[number]], False), LAYERS, context)
    return {layer: state.layer_outputs[layer][0].mean(0).float() for layer in LAYERS}


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
def test_means_are_those_of_each_sentence_alone(topology, left):
    model, context = core(topology), languages(core(topology), 3)
    order = torch.tensor([2, 0, 1])  # as batches by length may have them
    tokens = batch(SENTENCES, left, width=9).index_select(0, order)
    batches = [
        (order[rows], tokens[rows], context[order[rows]]) for rows in (slice(0, 2), slice(2, 3))
    ]
    assert tokens.eq(PAD).any(1).all()
    pooled = pooled_outputs(model, batches, LAYERS, len(SENTENCES))
    assert tuple(pooled) == LAYERS
    for layer, means in pooled.items():
        assert means.shape == (3, 8) and means.dtype == torch.float32
        for number in range(3):
            expected = alone(model, number)[layer]
            torch.testing.assert_close(means[number], expected, rtol=1e-5, atol=1e-6)


def test_a_model_in_training_is_refused():
    with pytest.raises(ValueError, match="evaluation mode"):
        pooled_outputs(core("prefix").train(), [], [1], 1)
