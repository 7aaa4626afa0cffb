"""What is computed in a faster way equals what a textbook's operations give: values, gradients."""

import itertools
from contextlib import nullcontext

import pytest
import torch
from speed.reference_ops import OPS
from support.covering import one_in
from support.parity_cases import CASES, EOS, EXACT, PAD, TWO_STAGE, gradients, name_of

from tdo_plugin.modules import packed_batch
from tdo_plugin.modules.attention import any_kernel
from tdo_plugin.modules.dropout import Dropout, PlainDropout
from tdo_plugin.modules.linear import (
    LayerNorm,
    Linear,
    Projection,
    lean_product,
    project_apart,
    project_packed,
)
from tdo_plugin.modules.losses.instrucl_loss import identity_source, instruction_index
from tdo_plugin.modules.source_state import SourceRequest


def results(model, source, previous, target):
    """Everything that a batch with a contrasted tag makes of a model, and its gradients."""
    layer = model.spec.source_layers
    identity = identity_source(source, target, PAD)
    tags = [[(layer, instruction_index(tokens.eq(PAD)))] for tokens in (source, identity)]
    readings = [
        SourceRequest(source, (1,), tags[0]),
        SourceRequest(identity, (), tags[1], source_kv=False),
    ]
    (first, second), features = model(readings, previous)
    loss, nll = model.cross_entropy(features, target, 0.1, int(target.ne(PAD).sum()))
    outputs = [loss, nll, features[target.ne(PAD)], *first.token_states, *second.token_states]
    outputs.append(first.layer_outputs[1][source.ne(PAD)])
    objective = loss + sum(output.square().sum() for output in outputs[2:])
    return [*outputs, gradients(objective, model)]


def without_padding(source, previous, target):
    """Lengths of one, odd and even, with nothing padded but the target's end."""
    return source[:1].repeat(3, 1), previous[[0, 2, 3]], target[[0, 2, 3]]


@pytest.mark.parametrize(
    ("case", "padded"), one_in(3, itertools.product(CASES, [True, False])), ids=name_of
)
def test_each_and_all(case, padded, make_model, batch):
    tensors = batch if padded else without_padding(*batch)
    expected = results(make_model(**case, ops=tuple(OPS)), *tensors)
    kinds = [(), *((name,) for name in OPS)] if case == TWO_STAGE else [()]
    for ops in kinds:
        computed = results(make_model(**case, ops=ops), *tensors)
        torch.testing.assert_close(computed, expected, **EXACT)


def test_every_name_is_one_operation(make_model):
    def parts(ops):
        rates = {"dropout": 0.1, "attention_dropout": 0.1}
        model = make_model(**{**TWO_STAGE, **rates}, ops=ops)
        return {
            "kernels": model.stack.layers[0].attention._kernel is any_kernel,
            "dropout": not any(type(module) is Dropout for module in model.modules()),
            "masks": any(model._padded(torch.zeros(1, 2, dtype=torch.bool))),
            "norms": not any(getattr(module, "recompute", False) for module in model.modules()),
            "products": not enabled(model),
            "projections": model.stack.layers[0].attention.project is project_apart,
            "streams": passes(model) == ["source", "source", "target"],
            "tags": model.stack.whole_layers,
            "weights": packed(model) is lean_product,
        }

    def enabled(model):
        with getattr(model, "products", nullcontext)():
            return torch.backends.mkldnn.enabled

    def passes(model):
        """Which calls of the stack take two sources and a target through."""
        calls = []
        for name in ("source", "target", "both"):
            call = getattr(model.stack, name)
            setattr(
                model.stack,
                name,
                lambda *args, name=name, call=call: calls.append(name) or call(*args),
            )
        tokens = torch.full((1, 2), EOS)
        model([SourceRequest(tokens), SourceRequest(tokens)], tokens)
        return calls

    def packed(model):
        single = model.float()
        single.pack()
        return single.stack.layers[0].attention.query._product

    assert set(parts(())) == set(OPS)
    for name in parts(()):
        assert not parts(())[name]
        assert parts((name,))[name]
        assert not any(is_fast for part, is_fast in parts((name,)).items() if part != name)


def test_packed_products_are_of_the_same_weights():
    """Also where they are not packed: few rows, no gradients, or a mixed-precision region."""
    projections = [Projection(6, 6) for _ in range(3)]
    for rows in (1, 40):
        x = torch.randn(rows, 6, requires_grad=True)
        for region in (nullcontext(), torch.no_grad(), torch.autocast("cpu")):
            with region:
                pair = project_packed(x, *projections), project_apart(x, *projections)
            one_product = rows == 40 and type(region) is nullcontext
            assert (pair[0][1].untyped_storage().nbytes() > rows * 6 * 4) == one_product
            for from_packed, from_apart in zip(*pair, strict=True):
                torch.testing.assert_close(from_packed, from_apart)


def test_dropout_keeps_a_byte_an_element():
    saved = []
    x = torch.randn(1000, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor.nbytes) or tensor, lambda tensor: tensor
    ):
        Dropout(0.3).train()(x)
    assert saved == [1000]
    assert isinstance(Dropout(0.3), PlainDropout)


def kept_by(module, *inputs):
    """Storages that wait for the backward pass, but for parameters."""
    saved = {}

    def note(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        module(*inputs)
    for parameter in module.parameters():
        saved.pop(parameter.untyped_storage().data_ptr(), None)
    return sum(saved.values())


@pytest.mark.parametrize("norm", [LayerNorm, torch.nn.LayerNorm])
def test_what_a_norm_gives_is_made_again(norm):
    x = torch.randn(50, 8, requires_grad=True)
    module = torch.nn.Sequential(norm(8), Linear(8, 3))
    size = x.numel() * x.element_size()
    statistics = 2 * 50 * 4
    expected = size * (1 if norm is LayerNorm else 2) + statistics
    assert kept_by(module, x) == expected


def test_pieces_are_put_together_again(make_model, batch, monkeypatch):
    """Of what attention gives, the output projection keeps nothing that attention does not keep."""
    model = make_model(**TWO_STAGE)
    source, previous, _ = batch
    kept = kept_by(model, [SourceRequest(source)], previous)
    monkeypatch.setattr(packed_batch, "recomputable", lambda output, *_: output)
    with_copies = kept_by(model, [SourceRequest(source)], previous)
    pairs = TWO_STAGE["num_layers"] - TWO_STAGE["target_layer"] - 1  # the last layer has none
    size = (source.numel() + previous.numel()) * model.spec.model_dim * 8
    assert with_copies - kept == pairs * size


def test_a_norm_whose_output_was_changed_in_place():
    """As a gate on it would do: the projection then keeps what it reads."""
    x = torch.randn(50, 8, dtype=torch.float64)
    pair = []
    for norm in (LayerNorm(8), torch.nn.LayerNorm(8)):
        torch.manual_seed(1)
        linear, norm = Linear(8, 3).double(), norm.double()
        normed = norm(x)
        normed.mul_(torch.linspace(0, 2, 8, dtype=torch.float64))
        linear(normed).square().sum().backward()
        pair.append((linear.weight.grad, norm.weight.grad))
    torch.testing.assert_close(*pair, **EXACT)
