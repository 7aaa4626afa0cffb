"""Masks of neurons at fairseq's border: the file, the pairs of a batch, checkpoints."""

import copy
import re
from argparse import Namespace
from dataclasses import replace

import pytest
import torch
from support.data import BOTH_WAYS, ENCODER_DECODER, TAG, TASK, TDO, TRAIN, built, iterate
from support.neuron_files import drawn_masks, write_masks

from tdo_plugin.models.mask_files import add_neuron_masks
from tdo_plugin.modules.checkpoint_upgrade import RENAMED
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.token_context import TokenContext
from tdo_plugin.neuron_files import Masks

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, "--dropout", "0")
PAIRS = BOTH_WAYS.split(",")


@pytest.fixture(params=[(), ENCODER_DECODER], ids=["two-stage", "encoder-decoder"])
def plain(request):
    flags = (*BASE, *TDO, *request.param)
    return flags, built(*flags)[1]


@pytest.fixture
def file(tmp_path, plain):
    _, model = plain
    return write_masks(tmp_path / "masks", model.core, PAIRS, model.state_dict())


def masked(flags, file, *more):
    return built(*flags, "--tdo-neuron-masks", str(file), *more)


def test_pairs_of_the_batch_reach_the_gates(refused, plain, file):
    flags, _ = plain
    task, model, _ = masked(flags, file)
    model.double()
    batch = iterate(task, "train")[0]["net_input"]
    assert len(torch.cat([batch["src_lang_id"], batch["tgt_lang_id"]], 1).unique(dim=0)) > 2
    stored = Masks.read(file)
    assert torch.equal(model.core.neurons.masks, torch.cat(list(stored.modules.values()), 1))
    languages = task.langs
    rows = [
        stored.pairs.index(f"{languages[source - 1]}-{languages[target - 1]}")
        for source, target in zip(
            batch["src_lang_id"].flatten(), batch["tgt_lang_id"].flatten(), strict=True
        )
    ]
    logits = model(**batch)[0]
    reading = SourceRequest(batch["src_tokens"], context=TokenContext(neurons=torch.tensor(rows)))
    expected = model.core.logits(model.core([reading], batch["prev_output_tokens"])[1])
    torch.testing.assert_close(logits, expected, rtol=0, atol=0)
    state = model.encoder(
        batch["src_tokens"], src_lang_id=batch["src_lang_id"], tgt_lang_id=batch["tgt_lang_id"]
    )
    decoded = model.decoder(batch["prev_output_tokens"], state)[0]
    torch.testing.assert_close(decoded, logits, rtol=0, atol=1e-12)
    for missing in ("src_lang_id", "tgt_lang_id"):
        with refused.raised("no ids", names="`--tdo-neuron-masks` needs the languages"):
            model(**{**batch, missing: None})


def test_the_file_must_fit(refused, tmp_path, plain):
    flags, model = plain
    file, right = tmp_path / "masks", drawn_masks(model.core, PAIRS)
    first = next(iter(right.modules))

    def changed(change):
        parts = ({**masks, **change(masks)} for masks in (right.modules, right.general))
        kept = ({name: mask for name, mask in part.items() if len(mask)} for part in parts)
        Masks(right.pairs, *kept, right.checkpoint).write(file)

    for case, make in {
        "no file": lambda: None,
        "other content": lambda: file.write_text("no safetensors"),
        "a pair less": lambda: write_masks(file, model.core, PAIRS[1:]),
        "another language": lambda: write_masks(file, model.core, [*PAIRS, "en-cs"]),
        "a module less": lambda: changed(lambda masks: {first: ()}),
        "a neuron less": lambda: changed(lambda masks: {first: masks[first][..., 1:]}),
        "a module more": lambda: changed(lambda masks: {"layers.7.attention.out": masks[first]}),
    }.items():
        make()
        with refused.raised(case, names="--tdo-neuron-masks"):
            masked(flags, file)


def test_masks_begin_with_the_checkpoint_that_was_measured(refused, plain, file):
    flags, model = plain
    new = masked(flags, file)[1]
    state, begins = model.state_dict(), Namespace(reset_optimizer=True)
    new.load_state_dict(state, args=begins)
    for name, value in state.items():
        assert torch.equal(new.state_dict()[name], value)
    with refused.raised("an optimizer of before", names="--finetune-from-model"):
        new.load_state_dict(state, args=Namespace(reset_optimizer=False))
    changed = copy.deepcopy(state)
    next(iter(changed.values())).add_(1)
    with refused.raised("another checkpoint", names="--tdo-neuron-masks"):
        new.load_state_dict(changed, args=begins)
    new.for_training = False
    with refused.raised("decoding", names="--tdo-neuron-masks"):
        new.load_state_dict(state, args=begins)


def test_a_checkpoint_goes_with_its_masks(refused, plain, file, tmp_path):
    flags, model = plain
    state = masked(flags, file)[1].state_dict()
    masked(flags, file)[1].load_state_dict(state)
    with refused.raised("without masks", names="--tdo-neuron-masks"):
        model.load_state_dict(state)
    another = write_masks(tmp_path / "other", model.core, PAIRS, model.state_dict(), seed=2)
    with refused.raised("other masks", names="--tdo-neuron-masks"):
        masked(flags, another)[1].load_state_dict(state)


def test_without_the_file_a_checkpoint_has_its_own(plain, file):
    flags, _ = plain
    task, trained, _ = masked(flags, file)
    batch = iterate(task, "train")[0]["net_input"]
    expected = trained(**batch)[0]
    state = copy.deepcopy(trained.state_dict())
    file.unlink()
    bare = built(*flags)[1]
    looking = Namespace(langs=task.langs, training=False)
    bare.core.spec = replace(bare.core.spec, neuron_masks=str(file))
    add_neuron_masks(bare.core, looking)
    bare.for_training = False
    bare.load_state_dict(state)
    torch.testing.assert_close(bare(**batch)[0], expected, rtol=0, atol=0)


def test_zero_shot_pairs_follow_the_flag(refused, plain, file):
    flags, _ = plain
    for rule, differs in (("union", True), ("general", False)):
        model = masked(flags, file, "--tdo-zero-shot-neurons", rule)[1]
        neurons = model.core.neurons
        assert bool((neurons.mask_of(1, 2) != neurons.general).any()) == differs
    with refused.raised("without masks", names="--tdo-zero-shot-neurons"):
        built(*flags, "--tdo-zero-shot-neurons", "general")


def test_masks_of_a_checkpoint_with_the_names_of_before(tmp_path):
    flags = (*BASE, *TDO, "--tdo-norm", "pre")
    _, model, _ = built(*flags)
    before = {present: old for old, present in RENAMED.items()}
    state = {
        re.sub(r"stack\.(bridge|output_block)", lambda name: before[name[0]], key): value
        for key, value in model.state_dict().items()
    }
    assert state.keys() != model.state_dict().keys()
    file = write_masks(tmp_path / "masks", model.core, PAIRS, state)
    _, restored, _ = masked(flags, file)
    restored.load_state_dict(state)
    for name, value in model.state_dict().items():
        assert torch.equal(restored.state_dict()[name], value), name
