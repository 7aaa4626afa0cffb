"""Two streams equal one joint sequence: logits, losses, gradients, states (float64, 1e-9)."""

import itertools

import pytest
import torch
from support.covering import in_turn, one_in
from support.parity_cases import CASES, EXACT, OWN_PARTS, PAD, SEEING_START, name_of, padding_first
from support.reference import Reference

from tdo_plugin.modules.losses.cross_entropy import smoothed_cross_entropy
from tdo_plugin.modules.source_state import SourceRequest

# what losses alone read
UNREAD = ("pre_ffn.positional.", "pre_ffn.gate.")
PADDINGS = ("source left, target right", "source right, target left", "source whole, target left")
ENDS = ("with its points", "with its states")


@pytest.mark.parametrize(
    ("case", "padding"), one_in(3, itertools.product(CASES, PADDINGS[:2])), ids=name_of
)
def test_logits_losses_and_gradients(case, padding, make_model, batch):
    model = make_model(**case)
    source, previous, target = batch
    if padding == "source right, target left":
        source, previous, target = source.flip(1), padding_first(previous), padding_first(target)
    real = target.ne(PAD)

    logits = model.logits(model.decode(previous, model.encode(source)))
    expected, _ = Reference(model).forward(source, previous)
    torch.testing.assert_close(logits[real], expected[real], **EXACT)

    loss = smoothed_cross_entropy(logits.flatten(0, 1), target.flatten(), 0.1, PAD)[0].sum()
    log_probs = expected.log_softmax(-1)[real]
    nll = -log_probs.gather(1, target[real][:, None]).sum()
    smoothing = 0.1 / (log_probs.size(1) - 1)
    plain_loss = (0.9 - smoothing) * nll - smoothing * log_probs.sum()
    torch.testing.assert_close(loss, plain_loss, **EXACT)

    read = {
        name: parameter
        for name, parameter in model.named_parameters()
        if not any(part in name for part in UNREAD)
    }
    ours, theirs = (torch.autograd.grad(each, [*read.values()]) for each in (loss, plain_loss))
    pair = (dict(zip(read, each, strict=True)) for each in (ours, theirs))
    torch.testing.assert_close(*pair, **EXACT)


@pytest.mark.parametrize(
    ("case", "side"), one_in(5, itertools.product(CASES, ["left", "right"]), 1), ids=name_of
)
def test_source_layer_outputs_of_every_layer(case, side, make_model, batch):
    model = make_model(**case)
    source, previous, _ = batch
    if side == "right":
        source = source.flip(1)
    layers = range(1, model.spec.source_layers + 1)
    states = model.encode(source, layer_outputs=layers).layer_outputs
    expected = Reference(model).forward(source, previous)[1]
    real = source.ne(PAD)
    assert len(states) == len(expected)
    for layer in layers:
        torch.testing.assert_close(states[layer][real], expected[layer - 1][real], **EXACT)
        (alone,) = model.encode_all([SourceRequest(source, (layer,), source_kv=False)])
        assert not alone.source_kv
        torch.testing.assert_close(
            alone.layer_outputs[layer][real], expected[layer - 1][real], **EXACT
        )


@pytest.mark.parametrize(
    ("case", "ends", "padding"),
    one_in(2, in_turn(CASES + OWN_PARTS, ENDS, PADDINGS), 1),
    ids=name_of,
)
def test_source_and_target_side_by_side(case, padding, ends, make_model, batch):
    """What is asked of the sources, and the target, as one after the other gives them."""
    model = make_model(**case)
    source, previous, target = batch
    if "target left" in padding:
        previous = padding_first(previous)
        source = source.flip(1) if "right" in padding else source[:1].repeat(len(source), 1)
    layers = range(1, model.spec.source_layers + 1)
    first = source.ne(PAD).long().argmax(1)
    last = first + source.ne(PAD).sum(1) - 1
    points = [(layer, where) for layer in layers for where in (first, last)]
    states = layers if ends == "with its states" else ()
    readings = [
        SourceRequest(source, states, points),
        SourceRequest(target, layers[:2], source_kv=False),
        SourceRequest(source, (1,)),
    ]
    together, features = model(readings, previous)
    expected = [model.encode_all([reading])[0] for reading in readings]
    alone = model.decode(previous, expected[0])
    real = previous.ne(PAD)
    torch.testing.assert_close(features[real], alone[real], **EXACT)
    for joint, separate, reading in zip(together, expected, readings, strict=True):
        torch.testing.assert_close(joint.token_states, separate.token_states, **EXACT)
        is_token = reading.tokens.ne(PAD)
        pair = [
            {layer: state[is_token] for layer, state in each.layer_outputs.items()}
            for each in (joint, separate)
        ]
        assert pair[0].keys() == set(reading.layer_outputs)
        torch.testing.assert_close(*pair, **EXACT)
    for joint, separate in zip(together[1:], expected[1:], strict=True):
        torch.testing.assert_close(list(joint.source_kv), list(separate.source_kv), **EXACT)


@pytest.mark.parametrize("case", one_in(4, CASES), ids=name_of)
def test_a_source_and_its_target_one_after_the_other_in_training(case, make_model, batch):
    """The backward pass may compute layers again; keys and values are kept once."""
    source, previous, _ = batch
    model, gradients = make_model(**case).train(), []
    for again in (False, True):
        for layer in model.stack.every_layer:
            layer.checkpointed = again
        state = model.encode(source)
        features = model.decode(previous, state)
        kept = len(state.source_kv)
        model.zero_grad()
        features.square().sum().backward()
        assert len(state.source_kv) == kept == len(model.stack.target_layers)
        gradients.append([part.grad for part in model.parameters()])
    torch.testing.assert_close(*gradients, rtol=0, atol=0)


@pytest.mark.parametrize("case", one_in(4, CASES, 1), ids=name_of)
def test_a_sentence_alone_equals_itself_in_a_batch(case, make_model, batch):
    model = make_model(**case)
    source, previous, _ = batch
    together = model.decode(previous, model.encode(source))
    for row in range(len(source)):
        alone_source = source[row : row + 1, source[row] != PAD]
        alone_previous = previous[row : row + 1, previous[row] != PAD]
        alone = model.decode(alone_previous, model.encode(alone_source))
        torch.testing.assert_close(alone[0], together[row, previous[row] != PAD], **EXACT)


@pytest.mark.parametrize("case", one_in(4, CASES, 2), ids=name_of)
def test_nothing_leaks_from_later_tokens(case, make_model, batch):
    model = make_model(**case)
    source, previous, _ = batch
    before = model.decode(previous, model.encode(source))
    for column in range(1, previous.size(1)):
        changed = previous.clone()
        changed[:, column:] = torch.where(
            changed[:, column:].eq(PAD), changed[:, column:], (changed[:, column:] - 3) % 13 + 4
        )
        after = model.decode(changed, model.encode(source))
        assert torch.equal(before[:, :column], after[:, :column])
        moved = previous[:, column].ne(PAD)
        assert not torch.isclose(before[moved, column], after[moved, column]).all(-1).any()


@pytest.mark.parametrize("case", one_in(4, CASES, 3), ids=name_of)
def test_targets_leave_no_trace_in_the_source(case, make_model, batch):
    model = make_model(**case)
    source, previous, _ = batch
    state = model.encode(source, range(1, model.spec.source_layers + 1))
    held = [*state.layer_outputs.values(), *(part for memory in state.source_kv for part in memory)]
    before = [tensor.clone() for tensor in held]
    first = model.decode(previous, state)
    model.decode((previous - 3) % 13 + 4, state)
    assert all(map(torch.equal, held, before))
    assert torch.equal(model.decode(previous, state), first)


def test_of_a_first_symbol_the_last_layer_has_keys_alone(make_model, batch):
    """A source that is computed alone; nobody reads what would come out of the symbol."""
    model = make_model(**SEEING_START[0])
    entered = []
    model.stack.layers[-1].feed_forward.register_forward_hook(lambda *_: entered.append(True))
    model.encode(batch[0])
    assert not entered
