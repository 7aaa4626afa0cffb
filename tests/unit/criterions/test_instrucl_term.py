"""InstruCL as a loss term: equations 8 and 9, the authors' form, layers and refusals."""

import itertools

import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from support.covering import one_in
from support.criterion_models import BASE, TOPOLOGIES, WITHOUT_TAG, gradients, model_and_batches
from support.data import CROSS_ENTROPY, INSTRUCL, databin
from support.parity_cases import EXACT
from support.reference import equation_8

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


OTHERS = ("--instrucl-layer", "1", "--instrucl-temperature", "0.5", "--instrucl-weight", "0.3")
FORMS = list(itertools.product(("none", "tag-share"), ("sum", "per-token")))


@pytest.mark.parametrize(
    ("topology", "form"),
    [
        *((topology, None) for topology in TOPOLOGIES),  # the paper's, which is the default
        *one_in(3, itertools.product(("tdo", "encoder-decoder"), FORMS), 2),
    ],
)
def test_equation_9_and_the_authors_forms(topology, form):
    weighting, scale = form or ("none", "sum")
    flags = ["--criterion", "label_smoothed_cross_entropy_instrucl", "--label-smoothing", "0.1"]
    if form:
        flags += ("--instrucl-weighting", weighting, "--instrucl-scale", scale, *OTHERS)
    layer, temperature, weight = (1, 0.5, 0.3) if form else (DEFAULT_LAYERS[topology], 1, 1)
    task, model, criterion, (batch,) = model_and_batches(*flags, topology=topology)
    pad = task.source_dictionary.pad()
    assert criterion.terms["instrucl"].layer(model) == layer
    anchors, positives, tags = tag_states(model, batch, layer, pad)
    parts = equation_8(anchors, positives, temperature)
    shares = torch.tensor([tags.count(tag) for tag in tags]).double() / len(tags)
    added = (parts * (1 - shares if weighting == "tag-share" else 1)).sum()
    if scale == "per-token":
        added = added * batch["net_input"]["src_tokens"].ne(pad).sum() / len(tags)
    stock = LabelSmoothedCrossEntropyCriterion(task, False, 0.1)(model, batch)[0]
    expected = stock + weight * added
    loss, size, logs = criterion(model, batch)
    torch.testing.assert_close(loss, expected, **EXACT)
    assert size == batch["ntokens"]
    # what is logged is equation 8, whatever it weighs
    named = {"instrucl_loss": parts.sum(), "objective": expected, "loss": stock}
    for name, value in named.items():
        assert float(logs[name]) == pytest.approx(value.item(), abs=1e-9), name
    torch.testing.assert_close(gradients(model, loss), gradients(model, expected), **EXACT)


@pytest.mark.parametrize(("layers", "expected"), [(1, 1), (2, 2), (6, 5), (12, 9), (24, 18)])
def test_three_quarters(layers, expected):
    numbers = {"model_dim": 8, "num_heads": 2, "stage1_ffn_dim": 8, "stage2_ffn_dim": 8}
    spec = ModelSpec(topology="decoder-only", num_layers=layers, **numbers)
    assert default_layer(spec) == expected


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
        tdo=TOPOLOGIES["tdo"],
        encdec=TOPOLOGIES["encoder-decoder"],
    )


def test_another_model_is_refused_where_the_criterion_meets_it(refused):
    _, model, criterion, (batch,) = model_and_batches(*INSTRUCL)
    _, unfit, _, _ = model_and_batches(*CROSS_ENTROPY, "--tdo-share-embeddings", "none")
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
