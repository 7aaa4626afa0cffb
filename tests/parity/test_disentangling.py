"""What TPDM makes of a source, by any way through the layers (float64, 1e-9)."""

import pytest
import torch
from support.parity_cases import DISENTANGLED, PAD, name_of
from support.reference import Reference

from tdo_plugin.modules.source_state import Reading

EXACT = {"rtol": 0, "atol": 1e-9}
CASES = [case for case in DISENTANGLED if case.get("tpdm_layer")]


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_embeddings_are_the_heads(case, make_model, batch):
    """Asked of the source alone, of one beside its target, and of one among other sources."""
    model = make_model(**case)
    source, previous, target = batch
    asked = Reading(source, disentangled=True)
    reference = Reference(model)
    reference.forward(source, previous)
    stack = model.stack
    layers = stack.encoder_layers if "encoder_layers" in case else stack.layers
    part = layers[case["tpdm_layer"] - 1].between
    reference.split = source.size(1)
    before = reference.disentangled_from
    expected = [reference.head(head, before) for head in (part.semantic, part.positional)]
    real = source.ne(PAD)
    ways = [
        model.read([asked])[0],
        model([asked], previous)[0][0],
        model([asked, Reading(target, (1,), memories=False), Reading(source)], previous)[0][0],
        model.read([Reading(target), asked])[1],
    ]
    for state in ways:
        found = state.disentangled
        torch.testing.assert_close(found.semantic[real], expected[0][real], **EXACT)
        torch.testing.assert_close(found.positional[real], expected[1][real], **EXACT)
        assert (found.gate is None) == ("tpdm_gate" not in case)
        if found.gate is not None:
            inner = reference.linear(part.gate.inner, before).clamp(min=0)
            logits = reference.linear(part.gate.outer, inner)[..., 0]
            torch.testing.assert_close(found.gate[real], logits[real], **EXACT)
    chosen = ways[0].select(torch.tensor([2, 0])).disentangled
    assert torch.equal(chosen.positional, ways[0].disentangled.positional[[2, 0]])


@pytest.mark.parametrize("case", CASES[:1], ids=name_of)
def test_nothing_is_computed_that_nobody_asks_for(case, make_model, batch):
    model = make_model(**case)
    source, previous, _ = batch
    calls = []
    part = model.stack.encoder_layers[case["tpdm_layer"] - 1].between
    for name in ("positional", "gate"):
        getattr(part, name).register_forward_hook(lambda *args: calls.append(args))
    state = model.encode(source)
    model.decode(previous, state)
    model([Reading(source)], previous)
    assert state.disentangled is None and not calls
    model.read([Reading(source), Reading(source, disentangled=True)])
    assert len(calls) == 2


def test_only_a_source_that_a_target_reads():
    with pytest.raises(ValueError, match="only a source that a target reads is disentangled"):
        Reading(torch.ones(1, 1), (1,), memories=False, disentangled=True)
