"""InstruCL against a loop written straight from equation 8, values and gradients."""

import math

import pytest
import torch
from support.covering import in_turn, one_in
from support.parity_cases import CASES, EOS, EXACT, PAD, gradients, name_of
from support.reference import Reference, equation_8

from tdo_plugin.modules.losses.instrucl_loss import (
    identity_source,
    instrucl_loss,
    instruction_index,
)
from tdo_plugin.modules.source_state import SourceRequest

SHARED = [case for case in CASES if case.get("share_embeddings", "all") == "all"]


def tag_state(reference, source, layer):
    """Of one sentence (1, S); appendix I contrasts the output of an encoder."""
    state = reference.forward(source, torch.tensor([[EOS]]))[1][layer - 1]
    if reference.spec.topology == "encoder-decoder" and layer == reference.spec.encoder_layers:
        state = reference.sequence(reference.model.stack.bridge, state)
    return state[0, 0]


def losses_apart(reference, source, target, layer, temperature):
    """Each sentence on its own, without padding, from the reference's states."""
    anchors, positives = [], []
    for row in range(len(source)):
        words = source[row, source[row] != PAD][None]
        target_words = target[row, target[row] != PAD][None]
        identity = torch.cat([words[:, :1], target_words], 1)
        anchors.append(tag_state(reference, words, layer))
        positives.append(tag_state(reference, identity, layer))
    return equation_8(anchors, positives, temperature)


@pytest.mark.parametrize(
    ("case", "temperature"), one_in(3, in_turn(SHARED, [1.0, 0.1]), 2), ids=name_of
)
def test_values_and_gradients(case, temperature, make_model, batch):
    model = make_model(**case)
    source, _, target = batch
    for layer in {1, model.spec.source_layers}:
        identity = identity_source(source, target, PAD)
        points = [[(layer, instruction_index(tokens.eq(PAD)))] for tokens in (source, identity)]
        main, side = model.encode_all(
            [
                SourceRequest(source, token_states=points[0]),
                SourceRequest(identity, (), points[1], source_kv=False),
            ]
        )
        losses = instrucl_loss(*main.token_states, *side.token_states, temperature)
        expected = losses_apart(Reference(model), source, target, layer, temperature)
        torch.testing.assert_close(losses, expected, **EXACT)
        pair = (gradients(loss.sum(), model) for loss in (losses, expected))
        torch.testing.assert_close(*pair, **EXACT)


def test_the_tag_is_found_behind_padding(batch):
    source = batch[0]
    index = instruction_index(source.eq(PAD))
    assert index.tolist() == [0, 2, 4, 1]
    assert (source.gather(1, index[:, None]) != PAD).all()


def test_identity_pairs_as_tokens():
    source = torch.tensor([[PAD, 9, 5, 2], [8, 5, 6, 2]])
    target = torch.tensor([[7, 2, PAD], [4, 5, 2]])
    assert identity_source(source, target, PAD).tolist() == [[9, 7, 2, PAD], [8, 4, 5, 2]]


def test_one_sentence_has_no_negatives():
    anchor = torch.randn(1, 4)
    assert instrucl_loss(anchor, torch.randn(1, 4)).item() == pytest.approx(0, abs=1e-6)


def test_equal_states_give_the_logarithm_of_the_batch():
    state = torch.ones(5, 4)
    assert instrucl_loss(state, state).tolist() == pytest.approx([math.log(5)] * 5)


def test_half_precision_does_not_overflow():
    state = torch.full((3, 8), 200.0).half()
    assert torch.isfinite(instrucl_loss(state, -state)).all()
