"""Parts of languages and pairs from the command line: trained, resumed, extended, decoded."""

import json

import pytest
import torch
from fairseq import checkpoint_utils
from support.commands import hypotheses, scores, told
from support.covering import mostly_full
from support.data import (
    BOTH_WAYS,
    CROSS_ENTROPY,
    ENCODER_DECODER,
    INSTRUCL,
    LANGUAGES,
    TAG,
    TASK,
    TDO,
    TRAIN,
    databin,
    generate,
    train,
)
from support.made import made_once
from support.trainings import found_by_both_searches, stopped_and_resumed

from tdo_compat.checkpoint import safe_load

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, "--disable-validation")
AWARE = ("--tdo-laln", "both", "--tdo-lalt", "identity")
ONE_STAGE = ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
SYSTEMS = {
    "tdo_transformer": (*TDO, *AWARE),
    "tdo_prefix_decoder_only": (*TDO, *ONE_STAGE, "--tdo-laln", "both"),
    "tdo_encoder_decoder": (*TDO, *ENCODER_DECODER, *AWARE),
    "merged attention": (
        *(*TDO, *ENCODER_DECODER, *AWARE),
        *("--tdo-decoder-attention", "merged", "--tdo-init", "depth-scaled"),
    ),
}
GENERATE = ("--task", "tdo_translation", *TASK, *TAG, "--beam", "3", "--max-len-b", "8")
DE_FR = ("-s", "de", "-t", "fr", "--gen-subset", "test")


def resumed(folder, part, *flags):
    """What each language or pair has of its own in a resumed training, and its checkpoint."""
    stopped_and_resumed(folder, *flags, stop=2, end=6)
    path = folder / "parts" / "checkpoint_last.pt"
    state = safe_load(path)["model"]
    tables = [tensor for name, tensor in state.items() if tensor.dim() == 3 or part in name]
    assert tables
    for table in tables:
        assert len(table.flatten(1).unique(dim=0)) == len(table), "rows alike"
    return tables, path


@pytest.mark.parametrize("system", mostly_full(SYSTEMS))
def test_trained_resumed_and_decoded(system, tmp_path):
    """With InstruCL; batches of the training mix languages, sentences of the search leave it."""
    arch = system if system.startswith("tdo_") else "tdo_encoder_decoder"
    flags = (*BASE, *SYSTEMS[system], "--arch", arch, *INSTRUCL)
    tables, path = resumed(tmp_path, "norm", *flags)
    assert {len(table) for table in tables} == {len(LANGUAGES)}
    assert len(found_by_both_searches(path, *GENERATE, *DE_FR)) == 6


OWN_PARTS = ("--tdo-adapter-dim", "5", "--tdo-target-attention", "all")


@pytest.mark.parametrize(
    ("system",), mostly_full([((),), (ENCODER_DECODER,)]), ids=["two stages", "encoder-decoder"]
)
def test_adapters_target_specific_attention_and_ffn_experts(system, tmp_path):
    """One direction is decoded by its own adapter, which is found by the checkpoint's pairs."""
    flags = (*BASE, *CROSS_ENTROPY, *TDO, *system, *OWN_PARTS, "--tdo-ffn-experts", "target")
    _, path = resumed(tmp_path, "adapters.", *flags)
    assert found_by_both_searches(path, *GENERATE, "-s", "en", "-t", "de", *DE_FR[4:])


def test_validation_translates(tmp_path):
    flags = (*SYSTEMS["tdo_transformer"], *CROSS_ENTROPY, "--eval-translation", "all")
    sizes = ("--eval-sentences", "3", "--max-update", "2", "--validate-interval-updates", "2")
    train(tmp_path, *BASE[:-1], *flags, *sizes, "--eval-lid", "references")
    lines = (tmp_path / "validation.jsonl").read_text().splitlines()
    assert {json.loads(line)["direction"] for line in lines} >= set(BOTH_WAYS.split(","))


def test_a_plain_model_is_fine_tuned(tmp_path):
    """The first batch's loss is the plain model's, and a resumed training needs no more flags."""
    plain = (*BASE, *TDO, *CROSS_ENTROPY, "--dropout", "0")
    train(tmp_path / "plain", *plain, "--max-update", "2")
    start = tmp_path / "plain" / "checkpoint_last.pt"
    flags = (*plain, "--finetune-from-model", str(start))
    runs = {
        name: train(tmp_path / name, *flags, *more, "--max-update", "2")
        for name, more in (("on", ()), ("aware", AWARE))
    }
    first, second = ([run[at]["loss"] for run in runs.values()] for at in (0, 1))
    assert first[0] == pytest.approx(first[1], rel=1e-6)
    assert second[0] != second[1]
    assert len(train(tmp_path / "aware", *flags, *AWARE, "--max-update", "4")) == 2


# --- tdo extend -------------------------------------------------------------------------------


@made_once
def aware(folder):
    train(folder, *BASE, *SYSTEMS["tdo_transformer"], *CROSS_ENTROPY, "--max-update", "3")


def test_extended_decoded_and_trained_on(tmp_path, capsys):
    trained, output = aware() / "checkpoint_last.pt", tmp_path / "new" / "extended.pt"
    words = ("--path", trained, "--langs", "it,pt", "--like", "es", "--out", output)
    printed, _ = told(capsys, "extend", databin(), *words)
    flags = ("--langs", "en,de,fr,es,it,pt", "--tdo-masked-tags", "2")
    assert f"--finetune-from-model {output} {' '.join(flags)}" in printed
    before = generate("--path", trained, *GENERATE, *DE_FR)
    after = generate("--path", output, *GENERATE, *DE_FR, *flags[:2])
    assert hypotheses(before) == hypotheses(after)
    assert scores(before) == scores(after)
    state = safe_load(output)
    assert state["task_state"]["languages"] == ["en", "de", "fr", "es", "it", "pt"]
    assert "last_optimizer_state" not in state
    _, _, task = checkpoint_utils.load_model_ensemble_and_task([str(output)])
    assert task.langs == state["task_state"]["languages"]
    more = (*SYSTEMS["tdo_transformer"], *CROSS_ENTROPY, *flags, "--max-update", "2")
    assert len(train(tmp_path / "on", *BASE, *more, "--finetune-from-model", str(output))) == 2
    trained_on = safe_load(tmp_path / "on" / "checkpoint_last.pt")["model"]
    moved = trained_on["core.stack.bridge.1.weight"] != state["model"]["core.stack.bridge.1.weight"]
    assert moved.flatten(1).any(1).tolist() == [True, True, True, True, False, False]
    name = "core.embeddings.source.weight"
    tags = trained_on[name][-2:], state["model"][name][-2:]
    assert torch.equal(*tags), "a tag that is never read and masked in the softmax was moved"


def test_mistakes_of_extend(refused, tmp_path):
    existing = tmp_path / "existing.pt"
    existing.write_text("mine")
    base = ("--task", "translation_multi_simple_epoch", *BASE[2:])
    stock = ("--arch", "transformer_iwslt_de_en", "--encoder-embed-dim", "8")
    train(tmp_path, *base, *stock, "--encoder-layers", "1", *CROSS_ENTROPY, "--max-update", "1")
    refused.rows(
        """
        extend {data} --path {trained} --out {new}
            --langs de              :: --langs
            --langs ,               :: --langs
            --langs it --like xx    :: --like
            --langs it --out {existing} :: --fresh
            --langs it --path {stock} :: multilingual
        """,
        data=databin(),
        trained=aware() / "checkpoint_last.pt",
        new=tmp_path / "new.pt",
        existing=existing,
        stock=tmp_path / "checkpoint_last.pt",
    )
    assert existing.read_text() == "mine"
