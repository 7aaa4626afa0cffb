"""Language-aware parts at fairseq's border: ids, tags, checkpoints, the softmax without tags."""

from argparse import Namespace

import pytest
import torch
from support.built_models import moved
from support.data import INSTRUCL, TAG, TASK, TDO, TRAIN, built, databin, iterate
from support.reference import equation_8

from tdo_plugin.errors import UserError
from tdo_plugin.models.languages import tag_sides
from tdo_plugin.modules.losses.cross_entropy import smoothed_cross_entropy
from tdo_plugin.modules.losses.instrucl_loss import identity_source
from tdo_plugin.modules.token_context import TokenContext

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, "--dropout", "0")
AWARE = ("--tdo-laln", "both", "--tdo-lalt", "xavier")


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
        tags.append(state[torch.arange(len(tokens)), tokens.ne(pad).int().argmax(1)])
    torch.testing.assert_close(loss, equation_8(*tags).sum(), rtol=0, atol=1e-9)


def test_refused(refused):
    refused.rows(
        """
        fairseq-train {data} {base} {tdo}
            {aware} --encoder-langtok src                                :: --encoder-langtok
            {aware} --langtoks '{"main":("src",None)}'                   :: --encoder-langtok
            {aware} --task translation_multi_simple_epoch                :: --task
            --langtoks '{"main":("tgt","tgt")}' --tdo-masked-tags 1      :: --tdo-masked-tags
            --decoder-langtok --tdo-masked-tags 1                        :: --tdo-masked-tags
            --tdo-masked-tags 5                                          :: --tdo-masked-tags
            --tdo-masked-tags -1                                         :: --tdo-masked-tags
            --lang-tok-replacing-bos-eos --tdo-source-sees-start         :: --lang-tok-replacing
        fairseq-train {data} {base} --arch tdo_prefix_decoder_only --tdo-lalt identity :: --tdo-lalt
        fairseq-train {data} {bare} {tdo} --tdo-lalt identity            :: --encoder-langtok
        """,
        data=databin(),
        base=BASE,
        bare=("--task", "tdo_translation", *TASK, *TRAIN),
        tdo=TDO,
        aware=AWARE,
    )
    with pytest.raises(UserError, match="`--langtoks`"):  # only a checkpoint can say this
        tag_sides(Namespace(langtoks="exit()"))


def test_a_target_s_tag_is_enough():
    flags = ("--task", "tdo_translation", *TASK, *TRAIN, *TDO, *AWARE)
    for tag_flags in (
        ("--encoder-langtok", "src", "--decoder-langtok"),
        ("--langtoks", '{"main":("tgt",None)}'),
    ):
        task, model, criterion = built(*flags, *tag_flags)
        assert torch.isfinite(criterion(model, iterate(task, "train")[0])[0])


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
