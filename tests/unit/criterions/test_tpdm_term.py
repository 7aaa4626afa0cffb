"""TPDM as a loss term: its sum and gradients against loops over sentences."""

import itertools
from collections import Counter

import pytest
import torch
from support.covering import in_turn, one_in
from support.tpdm_cases import EXACT, GATED, TOPOLOGIES, UPDATE, adversary, made, objective

from tdo_plugin.criterions.loss_terms import ModelOutputs, Update
from tdo_plugin.modules.losses.tpdm_loss import GATES
from tdo_plugin.modules.methods.disentangler import CAPTURED
from tdo_plugin.modules.positions import SinusoidalPositions
from tdo_plugin.modules.source_state import SourceRequest


def loop(model, criterion, batch, gates=None):
    """Equation 12 (with gates 11), sentence by sentence, without padding; and what is logged."""
    term, options = criterion.terms["tpdm"], criterion.terms["tpdm"].options
    tau, pad = options.tpdm_temperature, term.padding_idx
    sentences = []
    for row in batch["net_input"]["src_tokens"]:
        (state,) = model.core.encode_all([SourceRequest(row[row != pad][None], capture=CAPTURED)])
        captured = map(state.captured.get, CAPTURED)
        sentences.append([None if x is None else x[0] for x in captured])
    longest = max(len(h) for h, _, _ in sentences)
    if options.tpdm_anchor == "batch-mean":
        anchors = [
            torch.stack([p[k] for _, p, _ in sentences if k < len(p)]).mean(0)
            for k in range(longest)
        ]
    else:
        table = SinusoidalPositions(8, pad).double().table
        anchors = [table[pad + 1 + k] for k in range(longest)]
    total, logs = 0, Counter()

    def likelihoods(vector, keys):
        return torch.log_softmax(
            torch.stack([torch.cosine_similarity(vector, key, 0) for key in keys]) / tau, 0
        )

    for row, (h, p, gate) in enumerate(sentences):
        length = len(h)
        if options.tpdm_disentangle_weight:
            nothing = torch.zeros(1, length, dtype=torch.bool)
            guessed = adversary(criterion).guess(h[None], nothing)[0]
            table = [likelihoods(vector, p) for vector in guessed]
            for j in range(length):
                bound = table[j][j] - sum(table[i][j] for i in range(length)) / length
                bound = bound * (1 if gates is None else gates[row][j] * gate[j].sigmoid())
                total += bound * options.tpdm_disentangle_weight
                logs["tpdm_d"] += float(bound.detach()) / length
                logs["tpdm_g"] -= float(table[j][j].detach()) / length
                if gate is not None:
                    kind = GATES[model.core.spec.tpdm_gate](options.tpdm_gate_temperature)
                    q, prior = kind.open(gate[j]).sigmoid(), options.tpdm_gate_prior
                    logs["tpdm_open"] += float(q.detach() > 0.5) / length
                    logs["tpdm_gate"] += float(q.detach()) / length
                    kl = q * (q / prior).log() + (1 - q) * ((1 - q) / (1 - prior)).log()
                    total += kl * options.tpdm_gate_weight
        for j in range(length):
            likelihood = likelihoods(p[j], anchors[:length])[j]
            total -= likelihood * options.tpdm_position_weight
            logs["tpdm_p"] -= float(likelihood.detach()) / length
    return total, logs


VARIANTS = (
    ("--tpdm-anchor", "sinusoidal", "--tpdm-temperature", "0.3"),
    ("--tpdm-disentangle-weight", "0", "--tpdm-position-weight", "0.5"),
    ("--tpdm-disentangle-weight", "2", "--tpdm-position-weight", "0"),
    ("--tdo-share-embeddings", "decoder", "--no-left-pad"),
)


@pytest.mark.parametrize(
    ("flags", "topology"),
    one_in(2, [*(((), topology) for topology in TOPOLOGIES), *in_turn(VARIANTS, TOPOLOGIES)], 1),
    ids=lambda value: " ".join(value) or "the paper's" if isinstance(value, tuple) else None,
)
def test_objective_and_gradients_are_the_paper_s(topology, flags):
    padded_right = "--no-left-pad" in flags
    flags = [flag for flag in flags if flag != "--no-left-pad"]
    _, model, criterion, batch = made(*flags, topology=topology)
    tokens = batch["net_input"]["src_tokens"]
    assert tokens.eq(1).any(), "nothing is padded"
    assert tokens[:, 0].eq(1).any(), "padded on the left"
    if padded_right:
        tokens = torch.stack([torch.cat([row[row != 1], row[row == 1]]) for row in tokens])
        batch["net_input"]["src_tokens"] = tokens
    loss, logs = objective(model, criterion, batch)
    plain = logs["loss"]
    expected, logged = loop(model, criterion, batch)
    parts = {"d": "disentangle", "g": "disentangle", "p": "position"}
    options = vars(criterion.terms["tpdm"].options)
    names = {f"tpdm_{name}" for name, on in parts.items() if options[f"tpdm_{on}_weight"]}
    assert {name for name in logs if name.startswith("tpdm_")} == names
    for name in names:  # means over tokens, without weights
        assert float(logs[name]) == pytest.approx(logged[name], abs=1e-8), name
    torch.testing.assert_close(loss.detach() - plain, expected.detach(), **EXACT)
    same_gradients(model, loss, expected + criterion_without_terms(model, criterion, batch))


def same_gradients(model, loss, expected):
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    ours, theirs = (torch.autograd.grad(scalar, parameters) for scalar in (loss, expected))
    torch.testing.assert_close(ours, theirs, **EXACT)


def criterion_without_terms(model, criterion, batch):
    return criterion.compute_loss(model, model(**batch["net_input"]), batch)[0]


@pytest.mark.parametrize(
    ("kind", "topology"), one_in(3, itertools.product(GATES, ["tdo", "encoder-decoder"]))
)
def test_gated_objective_and_gradients(kind, topology, monkeypatch):
    weight = ("--tpdm-gate-weight", "0.7")
    _, model, criterion, batch = made(*GATED, "--tdo-tpdm-gate", kind, *weight, topology=topology)
    length = batch["net_input"]["src_tokens"].size(1)
    lengths = batch["net_input"]["src_lengths"].tolist()
    drawn = torch.rand(len(lengths), length, dtype=torch.float64)
    monkeypatch.setattr(GATES[kind], "draw", lambda self, logits: drawn * logits.sigmoid())
    monkeypatch.setattr(adversary(criterion), "step", lambda *args: None)
    loss, logs = objective(model, criterion, batch, UPDATE)
    expected, logged = loop(model, criterion, batch, drawn)
    for key, value in logged.items():
        assert float(logs[key]) == pytest.approx(value, abs=1e-8), key
    torch.testing.assert_close((loss - logs["loss"]).detach(), expected.detach(), **EXACT)
    same_gradients(model, loss, expected + criterion_without_terms(model, criterion, batch))


def test_gates_are_drawn_anew_in_training_and_never_elsewhere():
    _, model, criterion, batch = made(*GATED)
    adversary(criterion).step = lambda *args: None
    drawn = [float(objective(model, criterion, batch, UPDATE)[0].detach()) for _ in range(2)]
    assert drawn[0] != drawn[1]
    still = [float(objective(model, criterion, batch)[0].detach()) for _ in range(2)]
    assert still[0] == still[1]


def test_only_the_anchor_makes_sentences_depend_on_one_another():
    _, model, criterion, batch = made("--tpdm-anchor", "sinusoidal")
    tokens = batch["net_input"]["src_tokens"]
    wide, term = torch.full((len(tokens), 3), 1), criterion.terms["tpdm"]

    def loss(tokens):
        (state,) = model.core.encode_all([SourceRequest(tokens, capture=CAPTURED)])
        assert term.request(model, batch).capture == CAPTURED
        answer = ModelOutputs(captured=state.captured)
        return term.loss(answer, {"net_input": {"src_tokens": tokens}}).loss

    whole, empty = loss(tokens), torch.full_like(tokens[:1], 1)
    for others in (
        torch.cat([wide, tokens], 1),
        torch.cat([tokens, wide], 1),
        tokens.flip(0),
        torch.cat([tokens, empty]),
    ):
        torch.testing.assert_close(loss(others), whole, **EXACT)
    torch.testing.assert_close(sum(loss(row[None]) for row in tokens), whole, **EXACT)
    named = model.named_parameters()
    semantic = [parameter for name, parameter in named if "pre_ffn.semantic" in name]
    gradients = torch.autograd.grad(loss(torch.cat([tokens, empty])), semantic)
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_in_a_mixed_precision_region_the_losses_are_in_single():
    _, model, criterion, batch = made()
    model.float()
    seen, guess = [], adversary(criterion).guess
    adversary(criterion).guess = lambda *args: seen.append(guess(*args)) or seen[-1]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        objective(model, criterion, batch, UPDATE)
        assert model(**batch["net_input"])[0].dtype == torch.bfloat16
    assert seen[0].dtype == torch.float32


def test_a_batch_of_one_token():
    _, model, criterion, batch = made()
    batch["net_input"]["src_tokens"] = torch.tensor([[5]])
    batch["net_input"]["src_lengths"] = torch.tensor([1])
    batch["net_input"]["prev_output_tokens"] = torch.tensor([[2]])
    batch["target"], batch["ntokens"] = torch.tensor([[2]]), 1
    loss, logs = objective(model, criterion, batch, UPDATE)
    assert float(loss.detach()) == pytest.approx(float(logs["loss"]))
    loss.backward()
    assert all(
        parameter.grad is None or parameter.grad.isfinite().all()
        for parameter in model.parameters()
    )


SCHEDULES = {
    (): [1, 1],
    ("--tpdm-disentangle-start", "3"): [0, 0, 0, 1, 1],
    ("--tpdm-disentangle-warmup", "4"): [0.25, 0.5, 0.75, 1, 1],
    ("--tpdm-disentangle-start", "2", "--tpdm-disentangle-warmup", "2"): [0, 0, 0.5, 1, 1],
}


@pytest.mark.parametrize("flags", SCHEDULES, ids=" ".join)
def test_the_weight_of_the_mutual_information_over_updates(flags):
    _, model, criterion, batch = made(*flags)
    adversary(criterion).step = lambda *args: None

    def added(update, weight):
        criterion.terms["tpdm"].options.tpdm_disentangle_weight = weight
        loss, logs = objective(model, criterion, batch, update)
        return float(loss.detach()) - float(logs["loss"])

    aligned = added(None, 0)
    whole = added(None, 2) - aligned
    assert abs(whole) > 0.01
    for number, share in enumerate(SCHEDULES[flags]):
        weighted = added(Update(0.01, number), 2) - aligned
        assert weighted == pytest.approx(share * whole, abs=1e-9), number


def test_detached_positions_are_moved_by_their_alignment_alone():
    _, model, criterion, batch = made("--tpdm-detach-positional")
    _, _, without, _ = made("--tpdm-disentangle-weight", "0")
    _, attached, whole, _ = made()
    attached.load_state_dict(model.state_dict())
    detached = gradients(model, criterion, batch)
    for part, reference in (("positional", without), ("semantic", whole)):
        expected = gradients(attached, reference, batch)
        names = [name for name in detached if f"pre_ffn.{part}" in name]
        assert names
        for name in names:
            torch.testing.assert_close(detached[name], expected[name], **EXACT)
    moved = gradients(attached, whole, batch)
    assert any(
        not torch.allclose(detached[name], moved[name], **EXACT)
        for name in detached
        if "pre_ffn.positional" in name
    )


def gradients(model, criterion, batch):
    model.zero_grad()
    objective(model, criterion, batch)[0].backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
