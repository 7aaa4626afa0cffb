"""Language-aware parts at fairseq's border: ids, tags, checkpoints, the softmax without tags."""

from argparse import Namespace

import pytest
import torch
from support.built_models import moved
from support.data import (
    ENCODER_DECODER,
    INSTRUCL,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    iterate,
)

from tdo_plugin.errors import UserError
from tdo_plugin.models.languages import tag_sides
from tdo_plugin.modules.losses.cross_entropy import smoothed_cross_entropy
from tdo_plugin.modules.losses.instrucl_loss import identity_source
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.token_context import TokenContext

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, "--dropout", "0")
AWARE = ("--tdo-laln", "both", "--tdo-lalt", "xavier")


def test_ids_of_the_batch_reach_the_parts():
    task, model, _ = built(*BASE, *TDO, *AWARE)
    batch = iterate(task, "train")[0]["net_input"]
    assert len(batch["tgt_lang_id"].unique()) > 1
    logits, _ = moved(model).double()(**batch)
    source = SourceRequest(
        batch["src_tokens"], context=TokenContext.of_targets(batch["tgt_lang_id"][:, 0] - 1)
    )
    features = model.core([source], batch["prev_output_tokens"])[1]
    torch.testing.assert_close(logits, model.core.logits(features), rtol=0, atol=0)
    without = {**batch, "tgt_lang_id": None}
    for call in (lambda: model(**without), lambda: model.encoder(batch["src_tokens"])):
        with pytest.raises(UserError, match="`--tdo-laln` needs the languages of every"):
            call()


def test_identity_pairs_are_of_their_targets_language():
    task, model, criterion = built(*BASE, *TDO, *AWARE, *INSTRUCL)
    batch = iterate(task, "train")[0]
    moved(model).double()
    loss = criterion(model, batch)[2]["instrucl_loss"]
    net_input, pad = batch["net_input"], task.source_dictionary.pad()
    layer = criterion.terms["instrucl"].layer(model)
    languages = TokenContext.of_targets(net_input["tgt_lang_id"][:, 0] - 1)
    tags = []
    for tokens in (
        net_input["src_tokens"],
        identity_source(net_input["src_tokens"], batch["target"], pad),
    ):
        state = model.core.encode(tokens, (layer,), languages).layer_outputs[layer]
        first = tokens.ne(pad).int().argmax(1)
        tags.append(torch.nn.functional.normalize(state[torch.arange(len(tokens)), first], dim=1))
    anchors, positives = tags
    expected = 0.0
    for row in range(len(anchors)):
        negatives = [anchors[row] @ anchors[k] for k in range(len(anchors)) if k != row]
        positive = anchors[row] @ positives[row]
        expected += torch.stack([positive, *negatives]).logsumexp(0) - positive
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-9)


REFUSED = {
    "no tag": (
        ("--task", "tdo_translation", *TASK, *TRAIN, *TDO, "--tdo-lalt", "identity"),
        r"`--encoder-langtok` must be tgt, or `--decoder-langtok` on, for `--tdo-lalt`.*; it is "
        "None",
    ),
    "the source's tag": (
        ("--task", "tdo_translation", *TASK, "--encoder-langtok", "src", *TRAIN, *TDO, *AWARE),
        r"`--encoder-langtok` must be tgt.* the target language is not in the text; it is src",
    ),
    "the source's tag by another option": (
        (*BASE, *TDO, *AWARE, "--langtoks", '{"main":("src",None)}'),
        r"`--encoder-langtok` must be tgt.* the target language is not in the text; it is src",
    ),
    "tags that are predicted by another option": (
        (*BASE, *TDO, "--langtoks", '{"main":("tgt","tgt")}', "--tdo-masked-tags", "1"),
        r"`--tdo-masked-tags` must be 0 with `--decoder-langtok`",
    ),
    "the stock task": (
        ("--task", "translation_multi_simple_epoch", *TASK, *TAG, *TRAIN, *TDO, *AWARE),
        r"`--task` must be tdo_translation .*; it is translation_multi_simple_epoch",
    ),
    "one stage": (
        (*BASE, "--arch", "tdo_prefix_decoder_only", "--tdo-lalt", "identity"),
        r"`--tdo-lalt` must be none if `--tdo-target-layer` is 0: no stage ends",
    ),
    "a first target symbol of many": (
        (*BASE, *TDO, "--lang-tok-replacing-bos-eos", "--tdo-source-sees-start"),
        r"`--lang-tok-replacing-bos-eos` must be off with `--tdo-source-sees-start`, .*; it is on",
    ),
    "too many tags": (
        (*BASE, *TDO, "--tdo-masked-tags", "5"),
        r"`--tdo-masked-tags` must be at most 4, the number of language tags in the ",
    ),
    "tags that are predicted": (
        (*BASE, *TDO, "--decoder-langtok", "--tdo-masked-tags", "1"),
        r"`--tdo-masked-tags` must be 0 with `--decoder-langtok`",
    ),
    "less than none": (
        (*BASE, *TDO, "--tdo-masked-tags", "-1"),
        r"`--tdo-masked-tags` must not be negative; it is -1",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(name):
    flags, message = REFUSED[name]
    with pytest.raises(UserError, match=message) as raised:
        built(*flags)
    assert "\n" not in str(raised.value)


def test_tags_that_only_a_checkpoint_can_say_are_refused():
    with pytest.raises(UserError, match="`--langtoks` must be a dict of tags; it is exit"):
        tag_sides(Namespace(langtoks="exit()"))


def test_a_target_s_tag_is_enough():
    flags = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO, *AWARE)
    for tag_flags in (
        ("--encoder-langtok", "src", "--decoder-langtok"),
        ("--langtoks", '{"main":("tgt",None)}'),
    ):
        task, model, criterion = built(*flags, *tag_flags)
        assert torch.isfinite(criterion(model, iterate(task, "train")[0])[0])


# --- checkpoints ------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ENCODER_DECODER], ids=["two stages", "encoder-decoder"])
def test_a_plain_checkpoint_grows(more):
    task, plain, _ = built(*BASE, *TDO, *more)
    _, aware, _ = built(*BASE, *TDO, *more, "--tdo-laln", "both", "--tdo-lalt", "identity")
    aware.load_state_dict(moved(plain).double().state_dict())
    batch = iterate(task, "train")[0]["net_input"]
    torch.testing.assert_close(aware.double()(**batch)[0], plain(**batch)[0], rtol=0, atol=1e-9)


def test_a_checkpoint_with_other_languages():
    _, model, _ = built(*BASE, *TDO, *AWARE)
    state = model.state_dict()
    for name in ("stack.bridge.1.weight", "stack.layers.0.attention_residual.norm.bias"):
        weight = state[f"core.{name}"]
        with pytest.raises(
            UserError, match=r"languages of `--langs`; its .* 5 rows, the model's 4"
        ):
            model.load_state_dict({**state, f"core.{name}": torch.cat([weight, weight[:1]])})


# --- tags that take no part in the softmax ----------------------------------------------------


@pytest.mark.parametrize("sharing", ["all", "decoder", "none"])
@pytest.mark.parametrize("whole", [False, True])
def test_masked_tags_have_no_probability(sharing, whole):
    flags = (*TDO, "--tdo-share-embeddings", sharing, "--tdo-masked-tags", "4")
    more = ("--cross-entropy", "whole") if whole else ()
    terms = ("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1", *more)
    task, model, criterion = built(*BASE, *flags, *terms)
    batch = iterate(task, "train")[0]
    logits, _ = moved(model).double()(**batch["net_input"])
    words = len(task.target_dictionary) - 4
    assert logits.shape[-1] == words
    assert task.target_dictionary[words] == "__en__"
    expected = smoothed_cross_entropy(logits.flatten(0, 1), batch["target"].flatten(), 0.1, 1)
    loss = criterion(model, batch)[0]
    torch.testing.assert_close(loss, expected[0].sum(), rtol=0, atol=1e-9)
    for whole_search in ((), ("--whole-search",)):
        task, searching, _ = built(*BASE, *flags, *whole_search)
        searching = searching.double().eval()
        searching.load_state_dict(model.state_dict())
        generator = task.build_generator([searching], Namespace(beam=3, max_len_b=6))
        hypotheses = task.inference_step(generator, [searching], batch)
        tokens = torch.cat([hypothesis["tokens"] for ranked in hypotheses for hypothesis in ranked])
        assert (tokens < words).all()
