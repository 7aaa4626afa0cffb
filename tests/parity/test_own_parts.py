"""Adapters and target-specific attention in whole models, against a plain model a language."""

import pytest
import torch
from support.built_models import moved
from support.covering import one_in
from support.parity_cases import (
    ADAPTERS,
    ENCDEC,
    EXACT,
    OWN_PARTS,
    PAD,
    TARGETS,
    WAYS,
    build,
    grown_from,
    name_of,
)

from tdo_plugin.modules.methods.adapters import PairAdapters
from tdo_plugin.modules.methods.neuron_masks import NeuronMasks
from tdo_plugin.modules.methods.target_attention import TargetProjection
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.token_context import TokenContext

ROWS = torch.tensor([3, 1, 0, 1])  # whose order, sorted, is not its own inverse


def told(rows):
    return TokenContext(norm=rows, target=rows, pair=rows)


def alone(model, case, row):
    """A model of one language and pair, with the weights of this one."""
    single = build(**{**case, **{key: 1 for key in ("num_languages", "num_pairs") if key in case}})
    weights = {}
    for (name, tensor), like in zip(model.state_dict().items(), single.parameters(), strict=True):
        # LALN's row of positions of no language stays the last
        chosen = [row, *([4] if len(tensor) == 5 and len(like) == 2 else [])]
        weights[name] = tensor if tensor.shape == like.shape else tensor[chosen]
    single.load_state_dict(weights)
    return single


def features(model, source, previous, rows):
    return model([SourceRequest(source, context=told(rows))], previous)[1]


@pytest.mark.parametrize("case", one_in(5, OWN_PARTS, 3), ids=name_of)
def test_a_mixed_batch_is_each_sentence_alone(case, batch):
    """Values, and the gradients of all parameters, added up over the sentences."""
    model = moved(build(**case))
    source, previous, _ = batch
    mixed = features(model, source, previous, ROWS)
    weighting = torch.randn_like(mixed) * previous.ne(PAD)[..., None]
    (mixed * weighting).sum().backward()
    expected = {name: torch.zeros_like(parameter) for name, parameter in model.named_parameters()}
    for place, row in enumerate(ROWS.tolist()):
        single, sentence = alone(model, case, row), slice(place, place + 1)
        output = features(single, source[sentence], previous[sentence], torch.tensor([0]))
        real = previous[sentence].ne(PAD)
        torch.testing.assert_close(output[real], mixed[sentence][real], **EXACT)
        (output * weighting[sentence]).sum().backward()
        for name, part in single.named_parameters():
            if part.grad is None:
                continue
            if part.shape == expected[name].shape:
                expected[name] += part.grad
            else:
                expected[name][row] += part.grad[0]
                if len(part) == 2:
                    expected[name][4] += part.grad[1]
    own = tuple(parts_of(model))
    assert own
    for name, parameter in model.named_parameters():
        if name.startswith(own) or parameter.grad is not None or expected[name].any():
            torch.testing.assert_close(parameter.grad, expected[name], **EXACT)


def parts_of(model):
    kinds = (TargetProjection, PairAdapters)
    return {n: part for n, part in model.named_modules() if isinstance(part, kinds)}


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_a_plain_checkpoint_starts_from_the_same_function(way, batch):
    plain = moved(build(**way))
    aware = grown_from(plain, **way, **TARGETS, **ADAPTERS)
    source, previous, _ = batch
    expected = plain([SourceRequest(source)], previous)[1][previous.ne(PAD)]
    actual = features(aware, source, previous, ROWS)[previous.ne(PAD)]
    torch.testing.assert_close(actual, expected, **EXACT)


def test_which_attentions_are_of_languages():
    counts = {}
    for which in ("cross", "all"):
        model = build(**{**ENCDEC, **TARGETS, "target_attention": which})
        counts[which] = len(parts_of(model))
        assert which == "all" or all("cross_attention" in name for name in parts_of(model))
    assert counts == {"cross": 2 * 4, "all": 6 * 4}


@pytest.mark.parametrize("case", one_in(5, OWN_PARTS, 2), ids=name_of)
def test_mixed_precision(case, batch):
    model = moved(build(**case)).float()
    source, previous, _ = batch
    expected = features(model, source, previous, ROWS)
    with torch.autocast("cpu", torch.bfloat16):
        actual = features(model, source, previous, ROWS)
        actual.float().square().sum().backward()
    real = previous.ne(PAD)
    torch.testing.assert_close(actual.float()[real], expected[real], rtol=0.1, atol=0.3)
    half = features(model.to(torch.bfloat16), source, previous, ROWS)
    torch.testing.assert_close(half.float()[real], expected[real], rtol=0.1, atol=0.5)


def test_masks_of_neurons_hold_in_target_attention(batch):
    """What no pair uses neither speaks nor learns, nor moves while it is kept still."""
    model = moved(build(**ENCDEC, **TARGETS))
    model.neurons = NeuronMasks(model.stack, 4)
    width = sum(model.neurons.widths.values())
    used = torch.rand(width) < 0.6
    digest = torch.zeros(32, dtype=torch.uint8)
    model.neurons.take(used[None].expand(4, -1), used, torch.tensor([[0, 1]]).expand(4, -1), digest)
    source, previous, _ = batch
    languages = TokenContext(norm=ROWS, target=ROWS, neurons=torch.zeros_like(ROWS))
    output = model([SourceRequest(source, context=languages)], previous)[1]
    (output * torch.randn_like(output)).sum().backward()
    before, off = model.stack.state_dict(), 0
    before = {name: tensor.clone() for name, tensor in before.items()}
    with model.neurons.still(), torch.no_grad():
        for parameter in model.stack.parameters():
            parameter.add_(1.0)
    pieces = zip(model.neurons.widths, used.split([*model.neurons.widths.values()]), strict=True)
    for name, mask in pieces:
        part = model.stack.get_submodule(name)
        for kind, tensor in part.named_parameters():
            unused = (slice(None), ~mask) if isinstance(part, TargetProjection) else ~mask
            assert not tensor.grad[unused].any(), f"{name}.{kind}"
            assert torch.equal(tensor[unused], before[f"{name}.{kind}"][unused]), f"{name}.{kind}"
            off += int((~mask).sum())
    assert off


@pytest.mark.parametrize("way", [WAYS[0], WAYS[4]], ids=name_of)
def test_depth_scales_the_start_of_each_language(way):
    model = build(**{**way, **TARGETS, "model_dim": 32, "init": ("depth-scaled",)})
    for name, part in parts_of(model).items():
        depth = int(name.split("layers.")[1].split(".")[0]) + 1
        packed = ".attention." in f".{name}." and not name.endswith("out")
        limit = (6 / (32 * (4 if packed else 2)) / depth) ** 0.5
        for matrix in part.weight:
            assert 0.95 * limit < matrix.abs().max() <= limit, name


@pytest.mark.parametrize("way", WAYS, ids=name_of)
def test_adapters_end_a_layer(way, batch):
    """Where those of other layers are the identity, one adds its part to what a layer gives."""
    plain = moved(build(**way))
    adapted = build(**way, **ADAPTERS)
    adapted.load_state_dict({**adapted.state_dict(), **plain.state_dict()})
    source, previous, _ = batch
    part = moved(adapted.stack.target_layers[-1].feed_forward_residual.adapters)
    seen = []
    for model in (plain, adapted):
        model.stack.output_block.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        features(model, source, previous, ROWS)
    expected, actual = part(seen[0], told(ROWS)[:, None]), seen[1]
    real = previous.ne(PAD)
    torch.testing.assert_close(actual[real], expected[real], **EXACT)
    assert not torch.allclose(seen[0][real], seen[1][real])


@torch.no_grad()
def test_weights_are_laid_out_for_decoding(batch):
    """In single precision, in which plain projections are."""
    model = moved(build(**ENCDEC, **TARGETS, **ADAPTERS)).float()
    source, previous, _ = batch
    expected = features(model, source, previous, ROWS)
    model.pack()
    actual = features(model, source, previous, ROWS)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
