"""Searches and analyses on a GPU that is not there, and what the rehearsal itself finds."""

import pytest
import torch
from support.covering import one_in
from support.rehearsal import DEVICE, Place, rehearsal
from support.rehearsed import (
    known_places,
    rehearse_importance,
    rehearse_probe,
    rehearse_search,
    rehearse_training,
)
from support.rehearsed_cases import ANALYSED, SEARCHES, TRAININGS

ANALYSES = {"importance": rehearse_importance, "probe": rehearse_probe}


@pytest.mark.parametrize("name", one_in(2, SEARCHES, 1))
def test_searches(name):
    flags, beam, half = SEARCHES[name]
    found = rehearse_search(*flags, beam=beam, half=half)
    assert not found.unknown()
    assert found.units["step"] > 8


@pytest.mark.parametrize("model", ANALYSED)
@pytest.mark.parametrize("analysis", ANALYSES)
def test_analyses(analysis, model):
    assert not ANALYSES[analysis](*ANALYSED[model]).unknown()


@pytest.mark.full
def test_every_place_of_the_table_is_met():
    beginnings = ("all terms, other choices", "adapters", "general neurons", "back-translation")
    met = set()
    for name, flags in TRAININGS.items():
        if name.startswith(beginnings):
            met |= {*rehearse_training(*flags)[0].waits}
    for name in ("beam, merged", "greedy in half precision"):
        flags, beam, half = SEARCHES[name]
        met |= {*rehearse_search(*flags, beam=beam, half=half).waits}
    for analysis in ANALYSES.values():
        met |= {*analysis(*ANALYSED["two-stage"]).waits}
    assert not {*known_places()} - met


def waits_of(work):
    with rehearsal() as found:
        work(torch.arange(6.0).view(2, 3).to(DEVICE, non_blocking=True))
    return {place.operation for place in found.waits}


@pytest.mark.parametrize(
    ("work", "operation"),
    [
        (lambda x: x.sum().item(), "item"),
        (lambda x: bool(x.any()), "item"),
        (lambda x: x.tolist(), "to host"),
        (lambda x: x.cpu(), "to host"),
        (lambda x: x[x > 2], "index by mask"),
        (lambda x: x.index_put_((x > 2,), x.new_zeros(())), "index by mask"),
        (lambda x: x.nonzero(), "nonzero"),
        (lambda x: x.unique(), "unique"),
        (lambda x: torch.equal(x, x), "equal"),
        (lambda x: x[0].repeat_interleave(x[0].long()), "repeat_interleave"),
        (lambda x: x.new_tensor([1.0]), "to device"),
        (lambda x: x[[0, 1]], "to device"),
        (lambda x: x.copy_(torch.ones(3)), "to device"),
    ],
)
def test_what_waits(work, operation):
    assert operation in waits_of(work)


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x + torch.tensor(2.0),
        lambda x: x.masked_fill(x > 2, 0) @ x.T,
        lambda x: x.__setitem__(x > 2, 0.0),
        lambda x: torch.where(x > 2, x, 0.0).softmax(-1),
        lambda x: x.index_select(0, torch.arange(2, device=x.device)),
        lambda x: x.copy_(torch.ones(3), non_blocking=True),
        lambda x: torch.zeros(3, device=x.device) + x,
    ],
)
def test_what_does_not_wait(work):
    assert not waits_of(work)


@pytest.mark.parametrize(
    "work",
    [
        lambda x: x + torch.ones(3),
        lambda x: torch.cat([x, torch.ones(1, 3)]),
        lambda x: torch.ones(2, 3)[x > 2],
        lambda x: torch.nn.functional.embedding(torch.zeros(1, dtype=torch.long), x),
    ],
)
def test_both_devices_in_one_operation(work):
    with pytest.raises(RuntimeError, match="on the cpu"):
        waits_of(work)


def test_gradients_are_those_of_the_cpu():
    weight, x = torch.randn(4, 3), torch.randn(5, 4)
    gradients = []
    with rehearsal():
        for device in ("cpu", DEVICE):
            leaf = weight.clone().to(device).requires_grad_()
            (x.to(device) @ leaf).relu().logsumexp(1).sum().backward()
            gradients.append(leaf.grad)
        assert [gradient.device.type for gradient in gradients] == ["cpu", "cuda"]
        assert torch.equal(gradients[0], gradients[1].cpu())


def test_a_place_that_is_not_known_is_named():
    found = rehearse_search(*SEARCHES["greedy"][0], beam=1)
    place = Place("tdo_plugin/modules/layer.py", "forward", "item")
    found.waits[place], found.lines[place] = 2, 7
    (line,) = found.unknown()
    assert line.startswith("tdo_plugin/modules/layer.py:7 forward: item, 2 times")
