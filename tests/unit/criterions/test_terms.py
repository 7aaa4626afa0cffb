"""The criterion: fairseq's own loss where no term is on, equations 8 and 9 where InstruCL is."""

import math

import pytest
import torch
from fairseq import metrics
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from support.data import INSTRUCL, TAG, TASK, TRAIN, built, iterate

from tdo_plugin.criterions.instrucl import default_layer
from tdo_plugin.criterions.term_list import TERMS as TERM_CLASSES
from tdo_plugin.errors import UserError
from tdo_plugin.modules.spec import ModelSpec

WITHOUT_TAG = ("--task", "tdo_translation", *TASK, *TRAIN)
BASE = (*WITHOUT_TAG, *TAG)
SMALL = ("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12")
TOPOLOGIES = {
    "tdo": ("--arch", "tdo_transformer", "--tdo-layers", "5", "--tdo-target-layer", "2"),
    "prefix": ("--arch", "tdo_prefix_decoder_only", "--tdo-layers", "3"),
    "causal": ("--arch", "tdo_causal_decoder_only", "--tdo-layers", "3"),
    "encoder-decoder": ("--arch", "tdo_encoder_decoder", "--tdo-encoder-layers", "2"),
}
DEFAULT_LAYERS = {"tdo": 4, "prefix": 3, "causal": 3, "encoder-decoder": 2}
TERMS = ("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1")
EXACT = {"rtol": 0, "atol": 1e-9}


def made(*flags, topology="tdo", double=True, batches=1):
    """(task, model, criterion, batches) with dropout off."""
    task, model, criterion = built(*BASE, *TOPOLOGIES[topology], *SMALL, *flags)
    model = (model.double() if double else model).eval()
    mixed = [batch for batch in iterate(task, "train") if len(batch["id"]) > 4][:batches]
    return task, model, criterion, mixed


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


# --- without terms ---------------------------------------------------------------------------


@pytest.mark.parametrize("double", [True, False], ids=["float64", "float32"])
@pytest.mark.parametrize(
    "flags",
    [(), ("--sentence-avg",), ("--ignore-prefix-size", "2"), ("--report-accuracy",)],
    ids=lambda flags: " ".join(flags) or "plain",
)
def test_equals_fairseq(flags, double):
    task, model, ours, (batch,) = made(*TERMS, *flags, double=double)
    stock = LabelSmoothedCrossEntropyCriterion(
        task, ours.sentence_avg, ours.eps, ours.ignore_prefix_size, ours.report_accuracy
    )
    assert flags == () or ours.sentence_avg or ours.ignore_prefix_size or ours.report_accuracy
    tolerance = EXACT if double else {"rtol": 1e-5, "atol": 1e-5}
    loss, size, logs = ours(model, batch)
    our_gradients = gradients(model, loss)
    expected, expected_size, expected_logs = stock(model, batch)
    theirs = gradients(model, expected)
    assert size == expected_size
    torch.testing.assert_close(loss, expected, **tolerance)
    assert our_gradients.keys() == theirs.keys()
    for name in our_gradients:
        torch.testing.assert_close(our_gradients[name], theirs[name], **tolerance)
    for key, value in expected_logs.items():
        assert float(logs[key]) == pytest.approx(float(value), rel=1e-5), key
    assert set(logs) - set(expected_logs) == {"objective"}
    assert float(logs["objective"]) == float(logs["loss"])


@pytest.mark.parametrize("instrucl", [(), ("--loss-terms", "instrucl")], ids=["plain", "instrucl"])
@pytest.mark.parametrize("prefix", ["0", "2"])
def test_fused_equals_whole(instrucl, prefix):
    """One criterion without all logits, one with them: loss, logs and gradients."""
    results = []
    for kind in ("fused", "whole"):
        flags = ("--cross-entropy", kind, "--ignore-prefix-size", prefix, *instrucl)
        _, model, criterion, (batch,) = made(*TERMS, *flags)
        calls = []
        logits = model.core.logits
        model.core.logits = lambda *args, to=calls, call=logits: to.append(True) or call(*args)
        loss, size, logs = criterion(model, batch)
        assert bool(calls) == (kind == "whole")
        results.append((loss, size, logs, gradients(model, loss)))
    (loss, size, logs, ours), (expected, expected_size, expected_logs, theirs) = results
    torch.testing.assert_close(loss, expected, **EXACT)
    assert size == expected_size
    assert logs.keys() == expected_logs.keys() and ours.keys() == theirs.keys()
    for key in logs:
        assert float(logs[key]) == pytest.approx(float(expected_logs[key]), abs=1e-9), key
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], **EXACT)


def test_mixed_precision_region():
    """As `--amp` computes: half precision inside, the objective and the gradients in single."""
    results = []
    for kind in ("fused", "whole"):
        _, model, criterion, (batch,) = made(*INSTRUCL, "--cross-entropy", kind, double=False)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss, _, _ = criterion(model, batch)
        assert loss.dtype == torch.float32
        results.append((loss, gradients(model, loss)))
    (loss, ours), (expected, theirs) = results
    torch.testing.assert_close(loss, expected, rtol=1e-2, atol=0)
    for name in ours:
        assert ours[name].dtype == torch.float32
        assert (ours[name] - theirs[name]).norm() <= 0.05 * theirs[name].norm() + 1e-3


def test_unreduced():
    _, model, criterion, (batch,) = made(*TERMS)
    net_output = model(**batch["net_input"])
    loss, nll = criterion.compute_loss(model, net_output, batch, reduce=False)
    assert loss.shape == nll.shape == (batch["target"].numel(),)
    total, _ = criterion.compute_loss(model, net_output, batch)
    torch.testing.assert_close(loss.sum(), total)


def test_unknown_term():
    with pytest.raises(
        UserError, match=f"`--loss-terms` must be some of {', '.join(TERM_CLASSES)}; it has spam"
    ):
        built(*BASE, *TOPOLOGIES["tdo"], *SMALL, *TERMS, "--loss-terms", "instrucl,spam")


@pytest.mark.parametrize(
    ("terms", "flags", "message"),
    [
        ("instrucl", ("--tpdm-temperature", "-3"), "`--tpdm-temperature` must be left out without"),
        ("", ("--instrucl-layer", "2"), "`--instrucl-layer` must be left out without the loss ter"),
        ("", ("--tpdm-new-generator",), "the loss term tpdm; it is True"),
    ],
)
def test_options_of_a_term_that_is_not_there(terms, flags, message):
    with pytest.raises(UserError) as refused:
        built(*BASE, *TOPOLOGIES["tdo"], *SMALL, *TERMS, "--loss-terms", terms, *flags)
    assert message in str(refused.value)


def test_the_preset_is_the_term_named_by_hand():
    _, model, preset, (batch,) = made(*INSTRUCL)
    _, _, named, _ = made(*TERMS, "--loss-terms", "instrucl", "--instrucl-scale", "per-token")
    assert preset(model, batch)[0].item() == named(model, batch)[0].item()


# --- with InstruCL ---------------------------------------------------------------------------


def tag_states(model, batch, layer, pad):
    """(anchor, positive) of each sentence, alone and unpadded, and its tag."""
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
    task, model, criterion, (batch,) = made(*flags, topology=topology)
    layer = DEFAULT_LAYERS[topology]
    parts = equation_8(*tag_states(model, batch, layer, task.source_dictionary.pad())[:2])
    stock = LabelSmoothedCrossEntropyCriterion(task, False, 0.1)
    expected = stock(model, batch)[0] + sum(parts)
    loss, size, logs = criterion(model, batch)
    torch.testing.assert_close(loss, expected, **EXACT)
    assert size == batch["ntokens"]
    assert float(logs["instrucl_loss"]) == pytest.approx(sum(parts).item())
    assert float(logs["objective"]) == pytest.approx(expected.item())
    assert float(logs["loss"]) == pytest.approx((expected - sum(parts)).item())
    ours, theirs = gradients(model, loss), gradients(model, expected)
    assert ours.keys() == theirs.keys()
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], **EXACT)


@pytest.mark.parametrize("weighting", ["none", "tag-share"])
@pytest.mark.parametrize("scale", ["sum", "per-token"])
@pytest.mark.parametrize("topology", ["tdo", "encoder-decoder"])
def test_the_authors_forms(topology, weighting, scale):
    flags = ("--instrucl-weighting", weighting, "--instrucl-scale", scale)
    more = ("--instrucl-layer", "1", "--instrucl-temperature", "0.5", "--instrucl-weight", "0.3")
    task, model, criterion, (batch,) = made(*INSTRUCL, *flags, *more, topology=topology)
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
    task, model, criterion, (batch,) = made(*INSTRUCL, "--instrucl-weighting", "tag-share")
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
    task, model, criterion, (batch,) = made(*INSTRUCL, "--decoder-langtok")
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


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_default_layers(topology):
    _, model, criterion, _ = made(*INSTRUCL, topology=topology)
    assert criterion.terms["instrucl"].layer(model) == DEFAULT_LAYERS[topology]


@pytest.mark.parametrize(("layers", "expected"), [(1, 1), (2, 2), (6, 5), (12, 9), (24, 18)])
def test_three_quarters(layers, expected):
    numbers = {"model_dim": 8, "num_heads": 2, "stage1_ffn_dim": 8, "stage2_ffn_dim": 8}
    spec = ModelSpec(topology="decoder-only", num_layers=layers, **numbers)
    assert default_layer(spec) == expected


NO_TARGET_TAG_FIRST = {
    2: ("--decoder-langtok",),
    3: ("--decoder-langtok", "--lang-tok-replacing-bos-eos"),
    5: ("--encoder-langtok", "src", "--decoder-langtok"),
    "at the source's end": (*TAG, "--lang-tok-replacing-bos-eos"),
}


@pytest.mark.parametrize("strategy", NO_TARGET_TAG_FIRST, ids=str)
def test_strategies_without_the_target_s_tag_on_the_source_are_refused(strategy):
    flags = (*TOPOLOGIES["tdo"], *SMALL, *INSTRUCL, *NO_TARGET_TAG_FIRST[strategy])
    message = r"`--(encoder-langtok|lang-tok-replacing-bos-eos)` must be (tgt|off) for InstruCL"
    with pytest.raises(UserError, match=message):
        built(*WITHOUT_TAG, *flags)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--instrucl-layer", "0"), r"`--instrucl-layer` must be from 1 to 5, .*; it is 0"),
        (("--instrucl-layer", "6"), r"`--instrucl-layer` must be from 1 to 5, .*; it is 6"),
        (("--tdo-share-embeddings", "decoder"), "`--tdo-share-embeddings` must be all"),
        (("--tdo-share-embeddings", "none"), "`--tdo-share-embeddings` must be all"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_models_that_do_not_fit_are_refused(flags, message):
    """Both before a training starts, and where the criterion meets another model later."""
    with pytest.raises(UserError, match=message):
        made(*INSTRUCL, *flags)
    _, model, criterion, (batch,) = made(*INSTRUCL)
    if flags[0].startswith("--instrucl"):
        criterion.terms["instrucl"].options.instrucl_layer = int(flags[1])
        unfit = model
    else:
        _, unfit, _, _ = made(*TERMS, *flags)
    with pytest.raises(UserError, match=message):
        criterion(unfit, batch)


def test_layers_of_an_encoder_decoder_end_at_the_encoder():
    with pytest.raises(UserError, match=r"from 1 to 2, .* encoder-decoder .*; it is 3"):
        made(*INSTRUCL, "--instrucl-layer", "3", topology="encoder-decoder")


STOCK = (
    *("--arch", "transformer", "--encoder-layers", "1", "--decoder-layers", "1"),
    *("--encoder-embed-dim", "8", "--encoder-attention-heads", "2", "--share-all-embeddings"),
)


STOCK_TASK = ("--task", "translation_multi_simple_epoch", *BASE[2:])


def test_a_stock_model_is_refused():
    message = "`--arch` must be one of tdo_plugin's for InstruCL"
    with pytest.raises(UserError, match=message):
        built(*STOCK_TASK, *STOCK, *INSTRUCL)
    _, _, criterion, (batch,) = made(*INSTRUCL)
    _, model, _ = built(*STOCK_TASK, *STOCK, *TERMS)
    with pytest.raises(UserError, match=message):
        criterion(model, batch)
    with pytest.raises(UserError, match="`--arch` must take language ids"):
        built(*BASE, *STOCK, *TERMS)


def test_a_stock_model_without_terms():
    """The plain criterion is for every model."""
    task, model, criterion = built(*STOCK_TASK, *STOCK, *TERMS)
    batch = iterate(task, "train")[0]
    stock = LabelSmoothedCrossEntropyCriterion(task, False, 0.1)
    torch.testing.assert_close(criterion(model.eval(), batch)[0], stock(model, batch)[0])


def test_a_task_without_tags_is_refused():
    with pytest.raises(UserError, match="`--encoder-langtok` must be tgt for InstruCL"):
        built(
            *("--task", "translation", "-s", "en", "-t", "de", "--optimizer", "adam"),
            *(*TOPOLOGIES["tdo"], *SMALL, *INSTRUCL),
        )


@pytest.mark.parametrize(
    "flags",
    [("--instrucl-temperature", "0"), ("--instrucl-weight", "-1"), ("--instrucl-weight", "nan")],
    ids=" ".join,
)
def test_numbers_out_of_range(flags):
    with pytest.raises(UserError, match=f"`{flags[0]}` must be"):
        built(*BASE, *TOPOLOGIES["tdo"], *SMALL, *INSTRUCL, *flags)


def test_the_identity_pass_stops_at_its_layer():
    """It runs beside source and target, and of the layer that is contrasted the tag alone."""
    _, model, criterion, (batch,) = made(*INSTRUCL, "--instrucl-layer", "2")
    whole, last = {}, {}
    for number, layer in enumerate(model.core.stack.layers, start=1):

        def forward(batch, number=number, original=layer.forward):
            whole[number] = [segment.target_mask is not None for segment in batch.segments]
            return original(batch)

        def finish(segment, number, x, original=layer.finish):
            last[number] = segment.target_mask is not None
            return original(segment, number, x)

        layer.forward, layer.finish = forward, finish
    criterion(model, batch)
    # whether there is a target in the segments that pass a layer as a whole
    assert whole == {1: [False, False], 2: [False], 3: [True], 4: [True]}
    # and of whom a layer computes no more than what is wanted of its output
    assert last == {2: False, 5: True}


# --- what is logged --------------------------------------------------------------------------


def reduced(criterion, logs):
    with metrics.aggregate(new_root=True) as meters:
        criterion.reduce_metrics(logs)
    return meters.get_smoothed_values()


def test_logs_of_several_workers_are_means_of_all():
    _, model, criterion, batches = made(*INSTRUCL, batches=3)
    logs = [criterion(model, batch)[2] for batch in batches]
    assert criterion.logging_outputs_can_be_summed()
    tokens = sum(batch["ntokens"] for batch in batches)
    sentences = sum(len(batch["id"]) for batch in batches)
    summed = {key: sum(float(log[key]) for log in logs) for key in logs[0]}
    expected = {
        "loss": summed["loss"] / tokens / math.log(2),
        "nll_loss": summed["nll_loss"] / tokens / math.log(2),
        "objective": summed["objective"] / tokens / math.log(2),
        "instrucl_loss": summed["instrucl_loss"] / sentences,
    }
    for smoothed in (reduced(criterion, logs), reduced(criterion, [summed])):
        for key, value in expected.items():
            assert float(smoothed[key]) == pytest.approx(value, abs=2e-3), key


def test_a_log_without_a_term_s_tokens_adds_none():
    """As of an update in which the term asked for nothing, beside one in which it did."""
    _, _, criterion, _ = made(*INSTRUCL)
    shared = {"sample_size": 4, "ntokens": 4, "nsentences": 2, "loss": 1.0, "nll_loss": 1.0}
    term_log = {"reconstruction_nll_loss": 6 * math.log(2), "reconstruction_ntokens": 3}
    smoothed = reduced(
        criterion, [{**shared, "objective": 1.0, **term_log}, {**shared, "objective": 1.0}]
    )
    assert float(smoothed["reconstruction_nll_loss"]) == 2.0


def test_validation_logs_both_losses():
    task, model, criterion, _ = made(*INSTRUCL)
    (batch, *_) = iterate(task, "valid")
    loss, size, logs = task.valid_step(batch, model, criterion)
    assert {"loss", "nll_loss", "objective", "instrucl_loss"} <= set(logs)
    assert float(logs["objective"]) == pytest.approx(loss.item())
    assert size == batch["ntokens"]
    assert not any(parameter.grad is not None for parameter in model.parameters())
