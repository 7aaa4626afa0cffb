"""Attention weights of an explanation equal those of a plain joint sequence (float64)."""

import math

import pytest
import torch
from support.covering import one_in
from support.parity_cases import CASES, EXACT, PAD, name_of
from support.reference import Reference

from tdo_plugin.analysis.explanation.attention_weights import pair_weights


class WeighingReference(Reference):
    """Keeps the weights (H, queries, keys) of each attention by the module that has its weights."""

    def __init__(self, model):
        super().__init__(model)
        self.kept = {}

    def heads(self, part, x, memory, visible):
        width = self.spec.model_dim // self.spec.num_heads
        query, key = self.linear(part.query, x), self.linear(part.key, memory)
        if self.spec.position_embedding == "rotary":
            query, key = self.turned(query, width), self.turned(key, width)
        weights = []
        for head in range(self.spec.num_heads):
            cut = slice(head * width, (head + 1) * width)
            scores = query[0, :, cut] @ key[0, :, cut].T / math.sqrt(width)
            weights.append(scores.masked_fill(~visible[0], -1e300).softmax(-1))
        self.kept[part] = torch.stack(weights)
        return super().heads(part, x, memory, visible)


def expected_of(model, source, previous):
    reference, length = WeighingReference(model), source.size(1)
    reference.forward(source, previous)
    stack = model.stack
    if model.spec.topology == "decoder-only":
        kept = [reference.kept[layer.attention] for layer in stack.layers]
        seen = [
            length + (model.spec.source_sees_start and number >= model.spec.target_layer)
            for number in range(len(kept))
        ]
        of_source = [each[:, :length, :end] for each, end in zip(kept, seen, strict=True)]
        of_target = [
            each[:, length:].split([length, each.size(2) - length], -1)
            for each in kept[model.spec.target_layer :]
        ]
        return of_source, of_target
    of_source = [reference.kept[layer.attention] for layer in stack.encoder_layers]
    if model.spec.decoder_attention == "merged":
        count = previous.size(1)
        mean = torch.tensor(
            [[[float(k <= q) / (q + 1) for k in range(count)] for q in range(count)]],
            dtype=torch.float64,
        )
        read = [reference.kept[layer.merged_attention] for layer in stack.decoder_layers]
        return of_source, [(weights, mean) for weights in read]
    return of_source, [
        (reference.kept[layer.cross_attention], reference.kept[layer.attention])
        for layer in stack.decoder_layers
    ]


def pair(batch, row):
    """A sentence pair of the batch without its padding."""
    source, previous, _ = batch
    return source[row][source[row] != PAD][None], previous[row][previous[row] != PAD][None]


@pytest.mark.parametrize("case", one_in(3, CASES, 1), ids=name_of)
def test_weights_of_every_layer_and_head(case, make_model, batch):
    model = make_model(**case)
    for row in (0, 1, 2):  # lengths 5 and 4, 3 and 1, 1 and 6
        source, previous = pair(batch, row)
        of_source, of_target = expected_of(model, source, previous)
        weights = pair_weights(model, source, previous)
        for layer, expected in zip(weights.source, of_source, strict=True):
            torch.testing.assert_close(layer.weights, expected, **EXACT)
        for layer, expected in zip(weights.target, of_target, strict=True):
            torch.testing.assert_close(layer.source, expected[0], **EXACT)
            torch.testing.assert_close(layer.target, expected[1], **EXACT)


@pytest.mark.parametrize("case", CASES[::7], ids=name_of)
def test_the_pass_is_the_usual_one(case, make_model, batch):
    model = make_model(**case)
    source, previous = pair(batch, 0)

    @torch.no_grad()
    def usual():
        return model.logits(model.decode(previous, model.encode(source)))[0]

    before = usual()
    weights = pair_weights(model, source, previous)
    assert torch.equal(weights.logits, before) and torch.equal(usual(), before)
    first = model.spec.target_layer + 1 if case["topology"] == "decoder-only" else 1
    assert [layer.layer for layer in weights.target][:1] == [first]
    assert [layer.layer for layer in weights.source] == list(range(1, len(weights.source) + 1))


def test_what_is_refused(make_model, batch):
    model = make_model(**CASES[0])
    source, previous, _ = batch
    with pytest.raises(ValueError, match="alone and without padding"):
        pair_weights(model, source, previous)
    with pytest.raises(ValueError, match="alone and without padding"):
        pair_weights(model, source[1:2], previous[:1, :2])
    with pytest.raises(ValueError, match="evaluation mode"):
        pair_weights(model.train(), source[:1], previous[:1, :2])
