"""Importance of neurons against finite differences, and against one sentence at a time."""

import itertools
from collections import Counter

import pytest
import torch
from support.covering import one_in
from support.parity_cases import (
    DISENTANGLED,
    LANGUAGE_AWARE,
    MERGED,
    PAD,
    TOPOLOGIES,
    VARIANTS,
    name_of,
    padding_first,
)

from tdo_plugin.analysis.neurons.neuron_importance import (
    METHODS,
    Method,
    NeuronMeans,
    RealPositions,
    unlike,
)
from tdo_plugin.modules.losses.cross_entropy import smoothed_cross_entropy
from tdo_plugin.modules.methods.neurons import neuron_outputs, projections, rectified_projections
from tdo_plugin.modules.source_state import SourceRequest

SIGNED = Method(True, lambda activation, gradient: activation * gradient)
EXACT = {"rtol": 1e-9, "atol": 1e-11}
STEP = 1e-5


def apart(model, source, previous):
    return model.decode(previous, model.encode(source))


def beside(model, source, previous):
    return model([SourceRequest(source)], previous)[1]


def loss_of(model, way, source, previous, target):
    logits = model.logits(way(model, source, previous))
    return smoothed_cross_entropy(logits.flatten(0, 1), target.flatten(), 0.1, PAD)[0].sum()


def measured(model, way, method, batches, inner="before"):
    rectified = rectified_projections(model.stack) if inner == "after" else ()
    means = NeuronMeans(neuron_outputs(model.stack), method, rectified=rectified)
    for source, previous, target in batches:
        previous, target = unlike(source, previous, PAD), unlike(source, target, PAD)
        real = RealPositions(source.ne(PAD), previous.ne(PAD))
        means.add(real, lambda: loss_of(model, way, source, previous, target))  # noqa: B023
    return means


def padded(batch, side):
    source, previous, target = batch
    if side == "source right, target left":
        last = padding_first(source.flip(1)).flip(1)
        return last, padding_first(previous), padding_first(target)
    return batch


def sentences(batch):
    return [tuple(row[row.ne(PAD)][None] for row in rows) for rows in zip(*batch, strict=True)]


def read_hooks(model, inner, seen):
    """Hooks that list outputs with their names; after the ReLU: what the outer projection reads."""
    parts, handles = projections(model.stack), []
    for name, point in neuron_outputs(model.stack).items():
        if inner == "after" and name.endswith("feed_forward.inner"):
            note = lambda _, read, name=name: seen.append((name, read[0]))  # noqa: E731
            handles.append(parts[name.replace("inner", "outer")].register_forward_pre_hook(note))
        else:
            note = lambda *call, name=name: seen.append((name, call[2]))  # noqa: E731
            handles.append(point.register_forward_hook(note))
    return handles


def one_at_a_time(model, batch, inner="before"):
    """Sums of each neuron by method, and numbers of positions, by plain autograd."""
    sums, counts = {"absolute": Counter(), "taylor": Counter()}, Counter()
    for source, previous, target in sentences(batch):
        seen = []
        handles = read_hooks(model, inner, seen)
        loss = loss_of(model, apart, source, previous, target)
        for handle in handles:
            handle.remove()
        gradients = torch.autograd.grad(loss, [output for _, output in seen])
        for (name, output), gradient in zip(seen, gradients, strict=True):
            for method, value in (("absolute", output), ("taylor", output * gradient)):
                sums[method][name] += value.detach().abs().flatten(0, -2).sum(0)
            counts[name] += output[..., 0].numel()
    return sums, counts


CASES = [{**case, "norm": norm} for case in TOPOLOGIES for norm in ("pre", "post")]
CASES += [MERGED[0], MERGED[-1], LANGUAGE_AWARE[0], LANGUAGE_AWARE[-2], *VARIANTS[:2]]
CASES += [DISENTANGLED[0], DISENTANGLED[3]]
SIDES = ("source left, target right", "source right, target left")
WAYS = [(way, side) for way in (apart, beside) for side in SIDES]


def slope_of(model, point, width, neuron, batch):
    """Of the loss, as a neuron's value is multiplied by 1 - e at all positions, at e = 0."""
    losses = []
    for step in (STEP, -STEP):
        factor = torch.ones(width).double()
        factor[neuron] -= step
        handle = point.register_forward_hook(lambda *call, by=factor: call[2] * by)
        losses.append(float(loss_of(model, apart, *batch)))
        handle.remove()
    return (losses[0] - losses[1]) / (2 * STEP)


@pytest.mark.parametrize("case", one_in(3, CASES, 1), ids=name_of)
def test_the_signed_sum_is_the_slope_of_the_loss(case, make_model, batch):
    model = make_model(**case).requires_grad_(False)
    measurements = [measured(model, way, SIGNED, [padded(batch, side)]) for way, side in WAYS]
    for place, (name, point) in enumerate(neuron_outputs(model.stack).items()):
        width = projections(model.stack)[name].out_features
        neuron = place % width
        slope = slope_of(model, point, width, neuron, batch)
        for measurement in measurements:
            summed = float(measurement.means[name][neuron]) * measurement.positions[name]
            assert slope == pytest.approx(-summed, rel=1e-5, abs=1e-7), name


@pytest.mark.parametrize(
    ("case", "inner"), one_in(5, itertools.product(CASES, ["after", "before"]), 1), ids=name_of
)
def test_padded_batches_are_one_sentence_at_a_time(case, inner, make_model, batch):
    model = make_model(**case)
    sums, counts = one_at_a_time(model, batch, inner)
    assert sums.keys() == METHODS.keys()
    for method, (way, side) in itertools.product(METHODS, WAYS):
        for batches in ([padded(batch, side)], sentences(batch)):
            measurement = measured(model, way, METHODS[method], batches, inner)
            assert measurement.positions == counts
            for name, mean in measurement.means.items():
                assert mean.dtype == torch.float64 and mean.shape == sums[method][name].shape
                torch.testing.assert_close(mean, sums[method][name] / counts[name], **EXACT)
    assert not any(parameter.grad is not None for parameter in model.parameters())
