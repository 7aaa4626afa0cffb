"""Adapters and target-specific attention at fairseq's border: pairs, checkpoints, refusals."""

from argparse import Namespace

import pytest
import torch
from fairseq import tasks
from support.built_models import moved
from support.data import ENCODER_DECODER, TAG, TASK, TDO, TRAIN, built, iterate

from tdo_plugin.errors import UserError
from tdo_plugin.models.extension import Extension
from tdo_plugin.models.trained_pairs import KEY, trained_pairs
from tdo_plugin.modules.methods.neurons import neuron_outputs, projections
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.token_context import TokenContext

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, "--dropout", "0")
ADAPTERS, TARGETS = ("--tdo-adapter-dim", "5"), ("--tdo-target-attention", "all")
EXPERTS = ("--tdo-ffn-experts", "target")
ALL = (*ADAPTERS, *TARGETS, *EXPERTS, "--tdo-laln", "both")
WAYS = {"two stages": (), "encoder-decoder": ENCODER_DECODER}


@pytest.mark.parametrize("way", WAYS)
def test_ids_of_the_batch_reach_the_parts(way, refused):
    task, model, _ = built(*BASE, *TDO, *WAYS[way], *ALL, "--tdo-lalt", "xavier")
    batch = iterate(task, "train")[0]["net_input"]
    logits, _ = moved(model).double()(**batch)
    pairs = trained_pairs(task.args)
    assert model.core.pairs.names() == pairs and len(pairs) > 1
    sources, targets = (batch[f"{side}_lang_id"][:, 0] - 1 for side in ("src", "tgt"))
    both = zip(sources.tolist(), targets.tolist(), strict=True)
    rows = [pairs.index(f"{task.langs[s]}-{task.langs[t]}") for s, t in both]
    assert len({*rows}) > 1
    context = TokenContext(norm=targets, target=targets, pair=torch.tensor(rows))
    source = SourceRequest(batch["src_tokens"], context=context)
    features = model.core([source], batch["prev_output_tokens"])[1]
    torch.testing.assert_close(logits, model.core.logits(features), rtol=0, atol=0)
    _, model, _ = built(*BASE, *TDO, *WAYS[way], "--tdo-laln", "both")
    without = {**batch, "tgt_lang_id": None}
    for call in (lambda: model(**without), lambda: model.encoder(batch["src_tokens"])):
        with refused.raised("no ids", names="`--tdo-laln` needs the languages"):
            call()


def test_a_pair_without_an_adapter(refused):
    task, model, _ = built(*BASE, *TDO, *ADAPTERS)
    batch = dict(iterate(task, "train")[0]["net_input"])
    for side, language in (("src", "de"), ("tgt", "fr")):
        place = task.langs.index(language) + 1
        batch[f"{side}_lang_id"] = torch.full_like(batch[f"{side}_lang_id"], place)
    with refused.raised("de to fr", names="de-fr has no adapter"):
        model(**batch)


@pytest.mark.parametrize("way", WAYS)
def test_a_plain_checkpoint_grows(way):
    task, plain, _ = built(*BASE, *TDO, *WAYS[way])
    _, aware, _ = built(*BASE, *TDO, *WAYS[way], *ALL, "--tdo-lalt", "identity")
    aware.load_state_dict(moved(plain).double().state_dict())
    batch = iterate(task, "train")[0]["net_input"]
    torch.testing.assert_close(aware.double()(**batch)[0], plain(**batch)[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "flags",
    [ADAPTERS, TARGETS, EXPERTS, ("--tdo-laln", "both", "--tdo-lalt", "xavier")],
    ids=["adapters", "target attention", "experts", "norms and transformations"],
)
def test_an_optimizer_does_not_grow(flags):
    _, plain, _ = built(*BASE, *TDO)
    _, aware, _ = built(*BASE, *TDO, *flags)
    resumes = Namespace(reset_optimizer=False, finetune_from_model=None)
    with pytest.raises(UserError, match="`--finetune-from-model` must name a checkpoint without"):
        aware.load_state_dict(plain.state_dict(), model_cfg=resumes)
    aware.load_state_dict(aware.state_dict(), model_cfg=resumes)
    for starts in ({"reset_optimizer": True}, {"finetune_from_model": "x.pt"}):
        config = Namespace(**{**vars(resumes), **starts})
        aware.load_state_dict(plain.state_dict(), model_cfg=config)


def test_a_checkpoint_goes_by_its_own_order_of_pairs():
    task, model, _ = built(*BASE, *TDO, *ADAPTERS)
    batch = iterate(task, "train")[0]["net_input"]
    expected = moved(model).double()(**batch)[0]
    args = Namespace(**vars(task.args))
    args.lang_pairs = trained_pairs(args)[::-1]
    reordered = tasks.setup_task(args).build_model(args).double()
    assert reordered.core.pairs.names() == args.lang_pairs
    reordered.load_state_dict(model.state_dict())
    torch.testing.assert_close(reordered(**batch)[0], expected, rtol=0, atol=0)


def test_refused(refused):
    task, model, _ = built(*BASE, *TDO, *ADAPTERS)
    state = dict(model.state_dict())
    for case, pairs in (
        ("a pair less", state[KEY][:-1]),
        ("other pairs", state[KEY].flip(1)[:1].expand_as(state[KEY])),
    ):
        with refused.raised(case, names="--lang-pairs"):
            model.load_state_dict({**state, KEY: pairs})
    with refused.raised("adapters for more languages", names="--tdo-adapter-dim"):
        Extension(task.langs, ["it"]).arguments(task.args)
    with refused.raised("cross-attention in one stack", names="--tdo-target-attention"):
        built(*BASE, *TDO, "--tdo-target-attention", "cross")
    _, model, _ = built(*BASE, *TDO, *TARGETS, "--tdo-laln", "both", "--tdo-lalt", "xavier")
    state = model.state_dict()
    for part in ("bridge.1", "layers.0.attention_residual.norm", "layers.0.attention.query"):
        weight = state[f"core.stack.{part}.weight"]
        with refused.raised("a checkpoint of other languages", names="--langs"):
            longer = torch.cat([weight, weight[:1]])
            model.load_state_dict({**state, f"core.stack.{part}.weight": longer})


def test_neurons_are_those_of_the_plain_model():
    stacks = [
        built(*BASE, *TDO, *more)[1].core.stack for more in ((), (*ADAPTERS, *TARGETS, *EXPERTS))
    ]
    widths = [{name: p.out_features for name, p in projections(stack).items()} for stack in stacks]
    assert widths[0] == widths[1]
    assert [*neuron_outputs(stacks[1])] == [*widths[1]]
