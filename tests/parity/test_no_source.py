"""Sentences without a source, alone and among others, against a plain causal language model."""

import itertools
from collections import Counter

import pytest
import torch
from support.covering import one_in
from support.parity_cases import CASES, EXACT, PAD, TWO_STAGE, gradients, name_of
from support.reference import Reference, positions_of

from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.token_context import NO_CONTEXT, TokenContext

# how deep a stage is changes nothing here
JOINT = [
    case for case in CASES if case["topology"] == "decoder-only" and case.get("target_layer") != 3
]
SEVERAL = [case for case in JOINT if case.get("target_layer")]
LANGUAGES = torch.tensor([1, 0, 1, 0])
WITHOUT = torch.tensor([False, True, False, True])


def language_model(model, previous):
    """Logits (B, T, V) of a causal language model of the target's layers: no source anywhere."""
    reference, spec = Reference(model), model.spec
    reference.split, reference.languages = 0, LANGUAGES
    reference.positions = positions_of(previous, PAD)
    table = model.target_positions or model.source_positions
    y = reference.embed(previous, model.embeddings.target_weight, table)
    square = reference.visible(previous[:, :0], previous)
    for index in range(spec.target_layer, spec.num_layers):
        y = reference.joint(model.stack.layers[index], index + 1, y, square)
    return reference.sequence(model.stack.output_block, y) @ model.embeddings.output_weight.T


def features(model, source, previous):
    """By the way of training: source and target side by side."""
    languages = TokenContext.of_targets(LANGUAGES) if model.spec.language_aware else NO_CONTEXT
    reading = SourceRequest(source, context=languages)
    # the model of these tests would tell languages by a source's first token
    return type(model).forward(model, [reading], previous)[1]


def padding(previous, columns):
    return torch.full((len(previous), columns), PAD)


@pytest.mark.parametrize(
    ("case", "columns"), one_in(5, itertools.product(JOINT, [0, 1, 5])), ids=name_of
)
def test_a_batch_without_sources(case, columns, make_model, batch):
    """Nothing at all stands before the target, or padding alone."""
    _, previous, target = batch
    model = make_model(**case)
    expected = language_model(model, previous)
    logits = model.logits(features(model, padding(previous, columns), previous))
    real = target.ne(PAD)
    torch.testing.assert_close(logits[real], expected[real], **EXACT)
    found = gradients(logits[real].square().sum(), model).values()
    assert all(gradient.isfinite().all() for gradient in found)


WAYS = [(case, (), side) for case in JOINT for side in ("left", "right")]
WAYS += [(TWO_STAGE, (operation,), "left") for operation in ("streams", "masks")]


@pytest.mark.parametrize(("case", "ops", "side"), [*one_in(3, WAYS[:-2]), *WAYS[-2:]])
def test_among_sentences_with_a_source(case, ops, side, make_model, batch):
    """Each sentence's loss is that of the sentence alone, and so are the gradients' sums."""
    source, previous, target = batch
    source = source.flip(1) if side == "right" else source.clone()
    source[WITHOUT] = PAD
    model = make_model(ops, **case)
    logits = model.logits(features(model, source, previous))
    real = target.ne(PAD)
    assert logits.isfinite().all()
    expected = language_model(model, previous)
    lone = real & WITHOUT[:, None]
    torch.testing.assert_close(logits[lone], expected[lone], **EXACT)
    together = gradients(logits[real].square().sum(), model)
    assert all(gradient.isfinite().all() for gradient in together.values())
    if case.get("num_languages"):
        return
    sums = Counter()
    for row in range(len(source)):
        unpadded = source[row : row + 1][:, source[row].ne(PAD)]
        alone = model.logits(features(model, unpadded, previous[row : row + 1]))[0]
        torch.testing.assert_close(logits[row][real[row]], alone[real[row]], **EXACT)
        for name, gradient in gradients(alone[real[row]].square().sum(), model).items():
            sums[name] += gradient
    torch.testing.assert_close(together, dict(sums), **EXACT)


@pytest.mark.parametrize("columns", [0, 3])
@pytest.mark.parametrize("case", SEVERAL, ids=name_of)
def test_layers_of_the_source_alone_learn_nothing_of_it(case, columns, make_model, batch):
    """Below M, and where the target enters, only a source passes."""
    _, previous, target = batch
    model = make_model(**case)
    logits = model.logits(features(model, padding(previous, columns), previous))
    logits[target.ne(PAD)].square().sum().backward()
    below = [*model.stack.layers[: case["target_layer"]].parameters()]
    below += model.stack.bridge.parameters()
    assert all(parameter.grad is None or not parameter.grad.any() for parameter in below)
    above = model.stack.layers[case["target_layer"] :].parameters()
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in above)


@pytest.mark.parametrize("columns", [0, 3])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize("shared", ["decoder", "none"])
def test_a_source_s_own_embedding_learns_nothing_of_it(
    shared, positions, columns, make_model, batch
):
    _, previous, target = batch
    case = {**TWO_STAGE, "share_embeddings": shared, "position_embedding": positions}
    model = make_model(**case)
    logits = model.logits(features(model, padding(previous, columns), previous))
    logits[target.ne(PAD)].square().sum().backward()
    gradient = model.embeddings.source.weight.grad
    assert gradient is None or not gradient.any()
    assert model.embeddings.target.weight.grad.any()
    if positions == "learned" and model.target_positions is not None:
        of_source = model.source_positions.embedding.weight.grad
        assert of_source is None or not of_source.any()


@pytest.mark.parametrize("columns", [0, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_in_training_mode(dtype, columns, make_model, batch):
    _, previous, target = batch
    case = {**TWO_STAGE, "dropout": 0.2, "attention_dropout": 0.1, "activation_dropout": 0.1}
    model = make_model(**case).to(dtype).train()
    target_features = features(model, padding(previous, columns), previous)
    loss, _ = model.cross_entropy(target_features, target, 0.1)
    loss.backward()
    assert loss.isfinite()
    assert all(
        parameter.grad is None or parameter.grad.isfinite().all()
        for parameter in model.parameters()
    )
