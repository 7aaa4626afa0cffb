"""The first stage's translation against IBM model 1, written out word by word."""

import math
from argparse import Namespace
from types import SimpleNamespace

import pytest
import torch
from support.covering import one_in
from support.parity_cases import CASES, NUMBERS, PAD, gradients, name_of

from tdo_plugin.criterions.lexical import Lexical
from tdo_plugin.criterions.loss_terms import ModelOutputs, Update
from tdo_plugin.modules.losses import lexical_loss as lexical_module
from tdo_plugin.modules.losses.lexical_loss import entry_lexical_nll, lexical_nll
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec

STAGED = [case for case in CASES if ModelSpec(**NUMBERS, **case).entry_layer > 0]


def expected(model, states, source, target):
    """-sum_j log(1 / S sum_i p(y_j | h_i)), sentence by sentence."""
    nll = 0.0
    weight = model.embeddings.output_weight
    for row, sentence, words in zip(states, source, target, strict=True):
        real = row[sentence != PAD]
        probabilities = (real @ weight.T).softmax(-1)
        for word in words[words != PAD]:
            nll = nll - torch.log(sum(position[word] for position in probabilities) / len(real))
    return nll


@pytest.mark.parametrize("case", one_in(3, STAGED, 1), ids=name_of)
def test_values_and_gradients(case, make_model, batch):
    model = make_model(**case)
    source, previous, target = batch
    reading = SourceRequest(source, (model.spec.entry_layer,))
    entered = []  # what the target reads
    hook = model.stack.bridge.register_forward_hook(lambda *args: entered.append(args[2]))
    states = (model([reading], previous)[0][0], model.encode_all([reading])[0])
    hook.remove()
    assert len(entered) == len(states)
    for state, features in zip(states, entered, strict=True):
        nll = entry_lexical_nll(model, state, target)
        theirs = expected(model, features.view(*source.shape, -1), source, target)
        torch.testing.assert_close(nll, theirs, rtol=0, atol=1e-9)
        pair = (gradients(loss, model) for loss in (nll, theirs))
        torch.testing.assert_close(*pair, rtol=0, atol=1e-9)


@pytest.mark.parametrize("rows", [1, 3, 4])
def test_blocks_change_nothing(monkeypatch, rows):
    generator = torch.Generator().manual_seed(1)
    leaves = [
        torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((2, 5, 4), (9, 4))
    ]
    target = torch.tensor([[5, 6, 2], [4, 2, PAD]])
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    whole = lexical_nll(*leaves, padding, target, PAD)
    expected_gradients = torch.autograd.grad(whole, leaves)
    monkeypatch.setattr(lexical_module, "ROWS", rows)
    in_blocks = lexical_nll(*leaves, padding, target, PAD)
    torch.testing.assert_close(in_blocks, whole, rtol=1e-14, atol=0)
    actual = torch.autograd.grad(in_blocks, leaves)
    torch.testing.assert_close(actual, expected_gradients, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_many_words_in_half_precision(dtype):
    """A sum of 130,000 equal probabilities would be infinite in fp16, and coarse in bf16."""
    words = 130_000
    generator = torch.Generator().manual_seed(1)
    weight = (torch.randn(words, 4, generator=generator) / 8).to(dtype)
    features = torch.randn(1, 3, 4, generator=generator).to(dtype)
    target, padding = torch.tensor([[5, 6]]), torch.zeros(1, 3, dtype=torch.bool)
    nll = lexical_nll(features, weight, padding, target, PAD)
    assert nll.dtype == torch.float32
    theirs = lexical_nll(features.double(), weight.double(), padding, target, PAD)
    torch.testing.assert_close(nll.double(), theirs, rtol=1e-3, atol=0)


def term(**options):
    task = SimpleNamespace(
        target_dictionary=SimpleNamespace(pad=lambda: PAD),
        provides_update_info=True,
        args=Namespace(),
    )
    usual = {"lexical_weight": 2.0, "lexical_updates": 10, "ignore_prefix_size": 0}
    return Lexical(Namespace(**{**usual, **options}), task)


def test_the_weight_falls_in_a_straight_line_and_then_nothing_is_asked(make_model):
    model = SimpleNamespace(core=make_model(**STAGED[0]))
    sample = {"target": torch.tensor([[3, 4, PAD]]), "ntokens": 2}
    lexical = term()
    assert lexical.request(model, sample).source_loss is None  # before the first update
    for number, weight in ((0, 2.0), (5, 1.0), (9, 0.2), (10, 0.0), (50, 0.0)):
        update = Update(lr=0.1, number=number)
        request = lexical.request(model, sample, update)
        has_loss = request.source_loss is not None
        assert has_loss == (weight > 0)
        outputs = ModelOutputs(source_loss=torch.tensor(3.0) if has_loss else None)
        part = lexical.loss(outputs, sample, update)
        assert part.loss.item() == pytest.approx(3.0 * weight)
        assert part.logs["weight"].item() == pytest.approx(weight)
    assert part.logs.keys() == {"weight"}


def test_refused(refused, make_model):
    for options in (
        {"lexical_updates": 0},
        {"lexical_weight": -1.0},
        {"lexical_weight": math.nan},
        {"lexical_weight": math.inf},
    ):
        (name,) = options
        with refused.raised(str(options), names=name.replace("_", "-")):
            term(**options)
    model = SimpleNamespace(core=make_model(topology="decoder-only", num_layers=2, target_layer=0))
    with refused.raised("no first stage", names="--tdo-target-layer"):
        term().request(model, {"target": torch.tensor([[3]])})


def test_a_prefix_that_is_not_scored_is_not_predicted(make_model):
    model = SimpleNamespace(core=make_model(**STAGED[0]))
    lexical = term(ignore_prefix_size=1)
    sample = {"target": torch.tensor([[7, 3, 4], [7, 5, PAD]])}
    request = lexical.request(model, sample, Update(lr=0.1))
    assert request.source_loss.keywords["target"].tolist() == [[PAD, 3, 4], [PAD, 5, PAD]]
    logs = lexical.loss(ModelOutputs(source_loss=torch.tensor(3.0)), sample).logs
    assert logs["ntokens"] == 3
