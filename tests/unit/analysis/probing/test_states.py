"""States of every topology, at the sentence's own tokens."""

import pytest
import torch
from support.built_models import PAD
from support.probed_models import EOS, SENTENCES, TAG, TOPOLOGIES, batch, core, languages

from tdo_plugin.analysis.probing.states import read_states
from tdo_plugin.modules.token_context import NO_CONTEXT


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
def test_states_are_those_of_each_sentence_alone(topology, left):
    model, lines = core(topology), torch.tensor([4, 0, 2])
    tokens = batch(SENTENCES, left, width=9)
    result = read_states(model, [(3, lines, tokens, languages(model, 3))], [1, 3], {PAD, EOS, TAG})
    assert result.tokens.tolist() == [token for sentence in SENTENCES for token in sentence]
    assert result.positions.tolist() == [0, 1, 2, 3, 0, 0, 1, 2]
    assert result.lines.tolist() == [4, 4, 4, 4, 0, 2, 2, 2]
    assert result.directions.tolist() == [3] * 8
    assert sorted(result.states) == [1, 3] and result.states[1].dtype == torch.float32
    start = 0
    for number, sentence in enumerate(SENTENCES):
        context = languages(model, 3)
        alone = model.encode(batch([sentence], False), (1, 3), context[number : number + 1])
        for layer, states in result.states.items():
            expected = alone.layer_outputs[layer][0, 1:-1].float()
            found = states[start : start + len(sentence)]
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
        start += len(sentence)


def test_batches_follow_one_another_and_the_model_stays_as_it_is():
    model = core("two-stage")
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    batches = [
        (0, torch.tensor([7]), batch(SENTENCES[:1], True), NO_CONTEXT),
        (1, torch.tensor([1, 2]), batch(SENTENCES[1:], True), NO_CONTEXT),
    ]
    result = read_states(model, batches, [2], {PAD, EOS, TAG})
    assert result.directions.tolist() == [0] * 4 + [1] * 4
    assert result.states[2].shape == (8, 8) and not result.states[2].requires_grad
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_model_in_training_is_refused():
    with pytest.raises(ValueError, match="evaluation mode"):
        read_states(core("prefix").train(), [], [1], {PAD})
