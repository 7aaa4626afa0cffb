"""Masks of neurons against single sentences through a plain model that hooks switch."""

import copy
import math

import pytest
import torch
from support.covering import one_in
from support.parity_cases import CUT, GATED, PAD, TOPOLOGIES, name_of

from tdo_plugin.modules.methods.neuron_masks import NeuronMasks
from tdo_plugin.modules.methods.neurons import neuron_outputs, projections
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

EXACT = {"rtol": 0, "atol": 1e-11}
LANGUAGES = 3
PAIRS = torch.tensor([[0, 1], [1, 0], [1, 2]])
SOURCES, TARGETS = torch.tensor([0, 1, 1, 0]), torch.tensor([1, 2, 0, 1])
CASES = [
    {**case, "norm": norm}
    for number, case in enumerate(TOPOLOGIES)
    for norm in ("pre", "post")[:: (-1) ** number]
]
CASES += [{**TOPOLOGIES[0], "decoder_attention": "merged"}]
CASES += [{**TOPOLOGIES[1], "laln": "both", "lalt": "xavier", "num_languages": 3}]
CASES += [{**TOPOLOGIES[0], "laln": "source", "num_languages": 3}]
CASES += [{**TOPOLOGIES[0], **GATED}, {**TOPOLOGIES[1], **CUT}]


def drawn(model):
    """Masks (P, W) at random; of each module one neuron is nobody's, one not the first pair's."""
    torch.manual_seed(5)
    masks, general = [], []
    for part in projections(model.stack).values():
        all_pairs = torch.rand(part.out_features) < 0.3
        mask = (torch.rand(len(PAIRS), part.out_features) < 0.8) | all_pairs
        all_pairs[:2] = False
        mask[:, 0] = mask[0, 1] = False
        masks.append(mask)
        general.append(all_pairs)
    return torch.cat(masks, 1), torch.cat(general)


def gated(plain, masks, general, zero_shot="union"):
    model = copy.deepcopy(plain)
    model.neurons = NeuronMasks(model.stack, LANGUAGES, zero_shot).double()
    model.neurons.take(masks, general, PAIRS, torch.zeros(32, dtype=torch.uint8))
    return model


def with_masks(plain):
    """The model, masks for it, and the model that has them."""
    masks, general = drawn(plain)
    return plain, masks, general, gated(plain, masks, general)


def told(model, sources=SOURCES, targets=TARGETS, switched=True):
    aware = targets if model.spec.language_aware else None
    neurons = model.neurons(sources, targets) if switched else None
    return TokenContext(aware, aware, neurons=neurons)


def reference(plain, mask, source, previous, target):
    """Features (1, T, D) of one sentence, what its mask (W,) leaves out set to zero by hooks."""
    at, hooks = 0, []
    widths = [part.out_features for part in projections(plain.stack).values()]
    for point, width in zip(neuron_outputs(plain.stack).values(), widths, strict=True):
        kept = mask[at : at + width].double()
        hooks.append(point.register_forward_hook(lambda _, __, output, kept=kept: output * kept))
        at += width
    languages = told(plain, targets=target[None], switched=False)
    reading = SourceRequest(
        source[None], context=languages if plain.spec.language_aware else NO_CONTEXT
    )
    try:
        return type(plain).forward(plain, [reading], previous[None])[1]
    finally:
        for hook in hooks:
            hook.remove()


def own_sentence(batch, row):
    source, previous, _ = (side[row] for side in batch)
    return source[source.ne(PAD)], previous[previous.ne(PAD)]


def forward(model, batch, **which):
    source, previous, _ = batch
    reading = SourceRequest(source, context=told(model, **which))
    return type(model).forward(model, [reading], previous)[1]


@pytest.mark.parametrize("case", one_in(2, CASES, 1), ids=name_of)
def test_a_mixed_batch_equals_each_sentence_alone(case, make_model, batch):
    plain, masks, _, model = with_masks(make_model(**case))
    features = forward(model, batch)
    unlike = forward(model, batch, sources=torch.zeros(4).long(), targets=torch.ones(4).long())
    for row, (source, target) in enumerate(zip(SOURCES.tolist(), TARGETS.tolist(), strict=True)):
        place = PAIRS.tolist().index([source, target])
        alone = own_sentence(batch, row)
        expected = reference(plain, masks[place], *alone, TARGETS[row])[0]
        torch.testing.assert_close(features[row, : len(expected)], expected, **EXACT)
        if place:
            assert not torch.allclose(unlike[row, : len(expected)], expected, atol=1e-6)


@pytest.mark.parametrize("case", one_in(2, CASES), ids=name_of)
def test_decoding_step_by_step_equals_the_whole(case, make_model, batch):
    *_, model = with_masks(make_model(**case))
    source, previous, _ = batch
    real = previous.ne(PAD)
    state = type(model).encode_all(model, [SourceRequest(source, context=told(model))])[0]
    whole = forward(model, batch)
    torch.testing.assert_close(model.decode(previous, state)[real], whole[real], **EXACT)
    cache = model.new_cache()
    for end in range(1, previous.size(1) + 1):
        step = model.decode(previous[:, :end], state, cache)
        here = real[:, end - 1]
        torch.testing.assert_close(step[here, -1], whole[here, end - 1], **EXACT)


def test_beams_and_chosen_sentences_keep_their_masks(make_model, batch):
    *_, model = with_masks(make_model(**TOPOLOGIES[1]))
    source, previous, _ = batch
    state = type(model).encode_all(model, [SourceRequest(source, context=told(model))])[0]
    whole = forward(model, batch)
    rows = torch.arange(4).repeat_interleave(2)
    beams = model.decode(previous[rows], state.reorder(rows))
    torch.testing.assert_close(beams[previous[rows].ne(PAD)], whole[rows][previous[rows].ne(PAD)])
    kept = torch.tensor([3, 1])
    some = model.decode(previous[kept], state.select(kept))
    torch.testing.assert_close(some[previous[kept].ne(PAD)], whole[kept][previous[kept].ne(PAD)])


@pytest.mark.parametrize("case", one_in(2, CASES, 1), ids=name_of)
def test_gradients_outside_the_masks_are_exactly_zero(case, make_model, batch):
    """And inside they are those of the sentences one by one."""
    plain, masks, general, model = with_masks(make_model(**case))
    _, previous, _ = batch
    torch.manual_seed(3)
    weighting = torch.randn(*previous.shape, plain.spec.model_dim, dtype=torch.float64)
    rows = SOURCES.eq(0)  # all of pair 0
    only = tuple(side[rows] for side in batch)
    features = forward(model, only, sources=SOURCES[rows], targets=TARGETS[rows])
    (features * weighting[rows])[only[1].ne(PAD)].sum().backward()
    used = masks[0].split([part.out_features for part in projections(model.stack).values()])
    moved = 0
    for (name, part), on in zip(projections(model.stack).items(), used, strict=True):
        assert (~on).any(), name
        assert part.weight.grad[~on].abs().max() == 0 and part.bias.grad[~on].abs().max() == 0, name
        moved += int(part.weight.grad[on].abs().sum() > 0)
    assert moved == len(projections(model.stack))

    mixed = gated(plain, masks, general)
    (forward(mixed, batch) * weighting)[previous.ne(PAD)].sum().backward()
    for row in range(4):
        place = PAIRS.tolist().index([SOURCES[row].item(), TARGETS[row].item()])
        alone = reference(plain, masks[place], *own_sentence(batch, row), TARGETS[row])
        (alone[0] * weighting[row, : alone.size(1)]).sum().backward()
    expected = dict(plain.named_parameters())
    for name, parameter in mixed.named_parameters():
        gradient = expected[name].grad
        if gradient is not None and parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-9, atol=1e-10, msg=name)


@pytest.mark.parametrize("case", one_in(3, CASES), ids=name_of)
def test_all_neurons_for_all_pairs_is_the_plain_model(case, make_model, batch):
    plain = make_model(**case)
    masks, general = drawn(plain)
    model = gated(plain, torch.ones_like(masks), general)
    source, previous, _ = batch
    languages = told(plain, switched=False) if plain.spec.language_aware else NO_CONTEXT
    expected = type(plain).forward(plain, [SourceRequest(source, context=languages)], previous)[1]
    torch.testing.assert_close(forward(model, batch), expected, rtol=0, atol=0)


def test_pairs_without_a_mask(make_model, batch):
    plain = make_model(**TOPOLOGIES[0])
    masks, general = drawn(plain)
    cases = {
        # source, target: rows of the pairs whose neurons they use
        (0, 2): [0, 2],  # 0-1 has the source, 1-2 the target
        (2, 0): [1],  # no pair has source 2, 1-0 has the target
        (2, 2): [2],
        (1, 1): [0, 1, 2],
    }
    for rule in ("union", "general"):
        model = gated(plain, masks, general, rule)
        for (source, target), rows in cases.items():
            allowed = general | masks[rows].any(0) if rule == "union" else general
            assert torch.equal(model.neurons.mask_of(source, target), allowed)
        # as rows of the gates, some new and some known, in one batch and again in another
        for sources, targets in (([0, 2, 0, 1], [2, 0, 1, 1]), ([1, 0, 1, 2], [1, 2, 0, 0])):
            ids = {"sources": torch.tensor(sources), "targets": torch.tensor(targets)}
            features = forward(model, batch, **ids)
            for row, pair in enumerate(zip(sources, targets, strict=True)):
                mask = model.neurons.mask_of(*pair)
                expected = reference(plain, mask, *own_sentence(batch, row), TARGETS[row])[0]
                torch.testing.assert_close(features[row, : len(expected)], expected, **EXACT)


def test_what_a_checkpoint_keeps(make_model):
    plain, masks, _, model = with_masks(make_model(**TOPOLOGIES[0]))
    before = set(model.state_dict())
    model.neurons(torch.tensor([0]), torch.tensor([2]))  # a row more in the gates
    added = {name for name in model.state_dict() if name not in plain.state_dict()}
    assert set(model.state_dict()) == before
    assert added == {f"neurons.{name}" for name in ("masks", "general", "pairs", "digest")}
    assert torch.equal(model.state_dict()["neurons.masks"], masks)


@pytest.mark.parametrize("case", [TOPOLOGIES[0], TOPOLOGIES[1]], ids=name_of)
def test_what_no_pair_uses_never_moves(case, make_model, batch):
    """Whatever the optimizer: Adam with a decoupled weight decay, momentum, clipped gradients."""
    _, masks, general, model = with_masks(make_model(**case))
    unused = ~(masks.any(0) | general)
    widths = [part.out_features for part in projections(model.stack).values()]
    parts = list(zip(projections(model.stack).items(), unused.split(widths), strict=True))
    assert all(out.any() for _, out in parts)
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        forward(model, batch).pow(2).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        with model.neurons.still():
            optimizer.step()
    for (name, part), out in parts:
        old = before[f"stack.{name}.weight"]
        assert torch.equal(part.weight[out], old[out]), name
        assert not (part.weight[~out] == old[~out]).all(1).any(), name
        if name.endswith((".value", ".inner")):
            reader = name.rpartition(".")[0] + (".out" if name.endswith("value") else ".outer")
            reading = dict(projections(model.stack))[reader].weight
            assert torch.equal(reading[:, out], before[f"stack.{reader}.weight"][:, out]), name


def test_masks_in_mixed_precision(make_model, batch):
    plain, masks, general, model = with_masks(make_model(**TOPOLOGIES[1]))
    model.float()
    expected = forward(model, batch)
    with torch.autocast("cpu", torch.bfloat16):
        features = forward(model, batch)
    real = batch[1].ne(PAD)
    torch.testing.assert_close(features[real].float(), expected[real], rtol=0.1, atol=0.15)
    half = gated(plain, masks, general).to(torch.bfloat16)
    assert forward(half, batch).dtype == torch.bfloat16
    assert math.isfinite(forward(half, batch)[real].float().sum().item())
