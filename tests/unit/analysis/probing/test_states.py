"""States of every topology, at the sentence's own tokens."""

import pytest
import torch

from tdo_plugin.analysis.probing.states import read_states
from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.languages import Languages
from tdo_plugin.modules.spec import ModelSpec

PAD, EOS, TAG = 1, 2, 20
COMMON = {
    "model_dim": 8,
    "num_heads": 2,
    "stage1_ffn_dim": 12,
    "stage2_ffn_dim": 12,
    "dropout": 0.5,
}
TOPOLOGIES = {
    "two-stage": {"topology": "decoder-only", "num_layers": 3, "target_layer": 2},
    "prefix": {"topology": "decoder-only", "num_layers": 3, "norm": "pre"},
    "causal": {"topology": "decoder-only", "num_layers": 3, "source_attention": "causal"},
    "encoder-decoder": {"topology": "encoder-decoder", "encoder_layers": 3, "decoder_layers": 1},
    "no positions": {"topology": "decoder-only", "num_layers": 3, "position_embedding": "none"},
    "language-aware": {
        **{"topology": "decoder-only", "num_layers": 3, "target_layer": 1},
        **{"laln": "both", "lalt": "xavier", "num_languages": 2},
    },
}
SENTENCES = ([5, 6, 7, 8], [9], [6, 5, 11])


def core(topology):
    torch.manual_seed(1)
    spec = ModelSpec(**COMMON, **TOPOLOGIES[topology])
    return Builder(spec, PAD).build(21, 21).double().eval()


def batch(sentences, left, width=0):
    """Tag, sentence, end symbol, padded."""
    rows = [[TAG, *one, EOS] for one in sentences]
    width = max(width, *map(len, rows))
    filled = [
        [PAD] * (width - len(row)) + row if left else row + [PAD] * (width - len(row))
        for row in rows
    ]
    return torch.tensor(filled)


def languages(model, count):
    rows = torch.tensor([0, 1, 1])[:count]
    return Languages.of_targets(rows) if model.spec.language_aware else None


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
def test_states_are_those_of_each_sentence_alone(topology, left):
    model, lines = core(topology), torch.tensor([4, 0, 2])
    tokens = batch(SENTENCES, left, width=9)
    found = read_states(model, [(3, lines, tokens, languages(model, 3))], [1, 3], {PAD, EOS, TAG})
    assert found.tokens.tolist() == [token for one in SENTENCES for token in one]
    assert found.positions.tolist() == [0, 1, 2, 3, 0, 0, 1, 2]
    assert found.lines.tolist() == [4, 4, 4, 4, 0, 2, 2, 2]
    assert found.directions.tolist() == [3] * 8
    assert sorted(found.states) == [1, 3] and found.states[1].dtype == torch.float32
    start = 0
    for number, one in enumerate(SENTENCES):
        own = languages(model, 3)
        alone = model.encode(
            batch([one], False), (1, 3), None if own is None else own[number : number + 1]
        )
        for layer, states in found.states.items():
            expected = alone.states[layer][0, 1:-1].float()
            torch.testing.assert_close(
                states[start : start + len(one)], expected, rtol=1e-5, atol=1e-6
            )
        start += len(one)


def test_batches_follow_one_another_and_the_model_stays_as_it_is():
    model = core("two-stage")
    before = {name: one.clone() for name, one in model.state_dict().items()}
    batches = [
        (0, torch.tensor([7]), batch(SENTENCES[:1], True), None),
        (1, torch.tensor([1, 2]), batch(SENTENCES[1:], True), None),
    ]
    found = read_states(model, batches, [2], {PAD, EOS, TAG})
    assert found.directions.tolist() == [0] * 4 + [1] * 4
    assert found.states[2].shape == (8, 8) and not found.states[2].requires_grad
    for name, one in model.state_dict().items():
        assert torch.equal(one, before[name])
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_model_in_training_is_refused():
    with pytest.raises(ValueError, match="evaluation mode"):
        read_states(core("prefix").train(), [], [1], {PAD})
