"""InstruCL as a loss term: equations 8 and 9, the authors' form, layers and refusals."""

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from support.criterion_models import (
    BASE,
    EXACT,
    SMALL,
    TERMS,
    TOPOLOGIES,
    WITHOUT_TAG,
    gradients,
    model_and_batches,
)
from support.data import INSTRUCL, databin

from tdo_plugin.criterions.instrucl import default_layer
from tdo_plugin.modules.spec import ModelSpec

DEFAULT_LAYERS = {"tdo": 4, "prefix": 3, "causal": 3, "encoder-decoder": 2}


def tag_states(model, batch, layer, pad):
    anchors, positives, tags = [], [], []
    sources = batch["net_input"]["src_tokens"]
    for source, target in zip(sources, batch["target"], strict=True):
        source, target = source[source != pad], target[target != pad]
        identity = torch.cat([source[:1], target])
        anchors.append(model.core.encode(source[None], (layer,)).layer_outputs[layer][0, 0])
        positives.append(model.core.encode(identity[None], (layer,)).layer_outputs[layer][0, 0])
        tags.append(int(source[0]))
    return anchors, positives, tags


def equation_8(anchors, positives, temperature=1.0):
    def kernel(left, right):
        return (left @ right / (left.norm() * right.norm()) / temperature).exp()

    losses = []
    for i, anchor in enumerate(anchors):
        positive = kernel(anchor, positives[i])
        negatives = [kernel(anchor, negative) for j, negative in enumerate(anchors) if j != i]
        losses.append(-(positive / (positive + sum(negatives))).log())
    return losses


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_equation_9_in_the_paper_s_form(topology):
    flags = ("--criterion", "label_smoothed_cross_entropy_instrucl", "--label-smoothing", "0.1")
    task, model, criterion, (batch,) = model_and_batches(*flags, topology=topology)
    layer = DEFAULT_LAYERS[topology]
    assert criterion.terms["instrucl"].layer(model) == layer
    parts = equation_8(*tag_states(model, batch, layer, task.source_dictionary.pad())[:2])
    stock = LabelSmoothedCrossEntropyCriterion(task, False, 0.1)
    expected = stock(model, batch)[0] + sum(parts)
    loss, size, logs = criterion(model, batch)
    torch.testing.assert_close(loss, expected, **EXACT)
    assert size == batch["ntokens"]
    assert float(logs["instrucl_loss"]) == pytest.approx(sum(parts).item())
    assert float(logs["objective"]) == pytest.approx(expected.item())
    assert float(logs["loss"]) == pytest.approx((expected - sum(parts)).item())
    torch.testing.assert_close(gradients(model, loss), gradients(model, expected), **EXACT)


@pytest.mark.parametrize(("layers", "expected"), [(1, 1), (2, 2), (6, 5), (12, 9), (24, 18)])
def test_three_quarters(layers, expected):
    numbers = {"model_dim": 8, "num_heads": 2, "stage1_ffn_dim": 8, "stage2_ffn_dim": 8}
    spec = ModelSpec(topology="decoder-only", num_layers=layers, **numbers)
    assert default_layer(spec) == expected


@pytest.mark.parametrize("weighting", ["none", "tag-share"])
@pytest.mark.parametrize("scale", ["sum", "per-token"])
@pytest.mark.parametrize("topology", ["tdo", "encoder-decoder"])
def test_the_authors_forms(topology, weighting, scale):
    flags = ("--instrucl-weighting", weighting, "--instrucl-scale", scale)
    more = ("--instrucl-layer", "1", "--instrucl-temperature", "0.5", "--instrucl-weight", "0.3")
    task, model, criterion, (batch,) = model_and_batches(
        *INSTRUCL, *flags, *more, topology=topology
    )
    pad = task.source_dictionary.pad()
    anchors, positives, tags = tag_states(model, batch, 1, pad)
    expected = 0.0
    for tag, part in zip(tags, equation_8(anchors, positives, 0.5), strict=True):
        share = sum(row_tag == tag for row_tag in tags) / len(tags)
        expected = expected + part * (1 - share if weighting == "tag-share" else 1)
    if scale == "per-token":
        lengths = [int((row != pad).sum()) for row in batch["net_input"]["src_tokens"]]
        expected = expected * sum(lengths) / len(lengths)
    loss, _, logs = criterion(model, batch)
    torch.testing.assert_close(loss - logs["loss"], 0.3 * expected, **EXACT)
    # what is logged is equation 8, whatever it weighs
    parts = sum(equation_8(anchors, positives, 0.5))
    torch.testing.assert_close(logs["instrucl_loss"], parts.detach(), **EXACT)


def test_one_tag_in_a_batch_weighs_nothing_with_tag_shares():
    task, model, criterion, (batch,) = model_and_batches(
        *INSTRUCL, "--instrucl-weighting", "tag-share"
    )
    source = batch["net_input"]["src_tokens"]
    tags = [
        task.source_dictionary.index(f"__{language}__") for language in ("en", "de", "fr", "es")
    ]
    source[torch.isin(source, torch.tensor(tags))] = tags[0]
    loss, _, logs = criterion(model, batch)
    assert float(logs["instrucl_loss"]) > 1
    torch.testing.assert_close(loss, logs["loss"], **EXACT)


def test_strategy_4_contrasts_the_tag_once():
    """There the target begins with the tag already: the identity source must not have two."""
    task, model, criterion, (batch,) = model_and_batches(*INSTRUCL, "--decoder-langtok")
    (side,) = criterion.terms["instrucl"].request(model, batch).side_sources
    ((layer, _),) = side.token_states
    assert layer == 4
    first = batch["net_input"]["src_tokens"]
    for source, target, row in zip(first, batch["target"], side.tokens, strict=True):
        pad = task.source_dictionary.pad()
        source, target, row = (tokens[tokens != pad] for tokens in (source, target, row))
        assert source[0] == target[0]
        assert row.tolist() == [int(source[0]), *target[1:].tolist()]
    assert torch.isfinite(criterion(model, batch)[0])


def test_refused(refused):
    refused.rows(
        """
        fairseq-train {data} {base} {tdo} {instrucl}
            --instrucl-layer 0                                 :: --instrucl-layer
            --instrucl-layer 6                                 :: --instrucl-layer
            --tdo-share-embeddings decoder                     :: --tdo-share-embeddings
            --tdo-share-embeddings none                        :: --tdo-share-embeddings
            --instrucl-temperature 0                           :: --instrucl-temperature
            --instrucl-weight -1                               :: --instrucl-weight
            --encoder-langtok src --decoder-langtok            :: --encoder-langtok
            --lang-tok-replacing-bos-eos                       :: --lang-tok-replacing-bos-eos
        fairseq-train {data} {base} {encdec} {instrucl} --instrucl-layer 3 :: --instrucl-layer
        fairseq-train {data} {without_tag} {tdo} {instrucl} --decoder-langtok :: --encoder-langtok
            --lang-tok-replacing-bos-eos                       :: --encoder-langtok
        fairseq-train {data} --task translation -s en -t de --optimizer adam {tdo} {instrucl} \
:: --encoder-langtok
        """,
        data=databin(),
        base=BASE,
        without_tag=WITHOUT_TAG,
        instrucl=INSTRUCL,
        tdo=(*TOPOLOGIES["tdo"], *SMALL),
        encdec=(*TOPOLOGIES["encoder-decoder"], *SMALL),
    )


def test_another_model_is_refused_where_the_criterion_meets_it(refused):
    _, model, criterion, (batch,) = model_and_batches(*INSTRUCL)
    _, unfit, _, _ = model_and_batches(*TERMS, "--tdo-share-embeddings", "none")
    with refused.raised("separate embeddings", names="--tdo-share-embeddings"):
        criterion(unfit, batch)
    criterion.terms["instrucl"].options.instrucl_layer = 6
    with refused.raised("layer 6", names="--instrucl-layer"):
        criterion(model, batch)


def test_the_identity_pass_stops_at_its_layer():
    """It runs beside source and target, and of the layer that is contrasted the tag alone."""
    _, model, criterion, (batch,) = model_and_batches(*INSTRUCL, "--instrucl-layer", "2")
    whole, leaving = {}, {}
    for number, layer in enumerate(model.core.stack.layers, start=1):

        def packed(x, batch, number=number, original=layer.packed):
            whole[number] = [segment.target is not None for segment in batch.segments]
            return original(x, batch)

        def pass_batch(*tokens, batch, last, number, original=layer.pass_batch):
            leaving[number] = [segment.target is not None for segment in last]
            return original(*tokens, batch=batch, last=last, number=number)

        layer.packed, layer.pass_batch = packed, pass_batch
    criterion(model, batch)
    # whether there is a target in the segments that pass a layer as a whole
    assert whole == {1: [False, False], 2: [False], 3: [True], 4: [True]}
    # and of whom a layer computes no more than what is wanted of its output
    assert {number: each for number, each in leaving.items() if each} == {2: [False], 5: [True]}
