"""What TPDM makes of a source, by any way through the layers (float64, 1e-9)."""

import pytest
import torch
from support.parity_cases import DISENTANGLED, EXACT, PAD, name_of
from support.reference import Reference

from tdo_plugin.modules.methods.disentangler import CAPTURED
from tdo_plugin.modules.source_state import SourceRequest

CASES = [case for case in DISENTANGLED if case.get("tpdm_layer")]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_embeddings_are_the_heads(case, make_model, batch):
    """Asked of the source alone, of one beside its target, and of one among other sources."""
    model = make_model(**case)
    source, previous, target = batch
    request = SourceRequest(source, capture=CAPTURED)
    reference = Reference(model)
    reference.forward(source, previous)
    stack = model.stack
    layers = stack.encoder_layers if "encoder_layers" in case else stack.layers
    part = layers[case["tpdm_layer"] - 1].pre_ffn
    reference.split = source.size(1)
    before = reference.disentangled_from
    expected = [reference.head(head, before) for head in (part.semantic, part.positional)]
    real = source.ne(PAD)
    ways = [
        model.encode_all([request])[0],
        model([request], previous)[0][0],
        model(
            [request, SourceRequest(target, (1,), source_kv=False), SourceRequest(source)], previous
        )[0][0],
        model.encode_all([SourceRequest(target), request])[1],
    ]
    for state in ways:
        captured = state.captured
        torch.testing.assert_close(captured["semantic"][real], expected[0][real], **EXACT)
        torch.testing.assert_close(captured["positional"][real], expected[1][real], **EXACT)
        assert ("gate" in captured) == ("tpdm_gate" in case)
        if "gate" in captured:
            inner = reference.linear(part.gate.inner, before).clamp(min=0)
            logits = reference.linear(part.gate.outer, inner)[..., 0]
            torch.testing.assert_close(captured["gate"][real], logits[real], **EXACT)
    chosen = ways[0].select(torch.tensor([2, 0])).captured
    assert torch.equal(chosen["positional"], ways[0].captured["positional"][[2, 0]])


@pytest.mark.parametrize("case", CASES[:1], ids=name_of)
def test_nothing_is_computed_that_nobody_asks_for(case, make_model, batch):
    model = make_model(**case)
    source, previous, _ = batch
    calls = []
    part = model.stack.encoder_layers[case["tpdm_layer"] - 1].pre_ffn
    for name in ("positional", "gate"):
        getattr(part, name).register_forward_hook(lambda *args: calls.append(args))
    state = model.encode(source)
    model.decode(previous, state)
    model([SourceRequest(source)], previous)
    assert not state.captured and not calls
    model.encode_all([SourceRequest(source), SourceRequest(source, capture=CAPTURED)])
    assert len(calls) == 2


def test_requests_that_make_no_sense(make_model, batch):
    source, previous, _ = batch
    model = make_model(**CASES[0])
    with pytest.raises(ValueError, match="captured only from a source that a target reads"):
        model.encode_all([SourceRequest(source, (1,), source_kv=False, capture=CAPTURED)])
    with pytest.raises(ValueError, match="a source request must name at least one output"):
        model.encode_all([SourceRequest(source, source_kv=False)])
    with pytest.raises(ValueError, match="the first request must have source_kv"):
        model([SourceRequest(source, (1,), source_kv=False)], previous)
