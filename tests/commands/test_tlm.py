"""The TLM objective through fairseq: training, resuming, several processes, and what is decoded."""

from itertools import product

import pytest
import torch
from support.auxiliary_data import monolingual
from support.commands import hypotheses
from support.covering import one_in
from support.data import BOTH_WAYS, TAG, TASK, TRAIN, built, databin, generate, iterate, train
from support.trainings import PRECISIONS, half_precision_is_near, stopped_and_resumed

SMALL = ("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12")
TOPOLOGIES = {
    "causal": ("--arch", "tdo_causal_decoder_only", "--tdo-layers", "2"),
    "prefix": ("--arch", "tdo_prefix_decoder_only", "--tdo-layers", "2"),
    "tdo": ("--arch", "tdo_transformer", "--tdo-layers", "3", "--tdo-target-layer", "1"),
    "encoder-decoder": (
        *("--arch", "tdo_encoder_decoder", "--tdo-encoder-layers", "2"),
        *("--tdo-decoder-layers", "1"),
    ),
}
BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *SMALL, "--tdo-positions", "continuous")
TLM = ("--criterion", "label_smoothed_cross_entropy_tlm", "--label-smoothing", "0.1")
BERT = ("--source-noise", "bert", "--source-noise-rate", "0.4")
EXPONENTIAL = ("--reconstruction-schedule", "exponential", "--reconstruction-tau", "4")
LINEAR = ("--reconstruction-schedule", "linear", "--reconstruction-tau", "2")
NO_DROPOUT = ("--dropout", "0")


@pytest.mark.parametrize(("topology", "kind"), one_in(3, product(TOPOLOGIES, ("lm", "ae")), 1))
def test_trains(topology, kind, tmp_path):
    """With noise and without, and lambda as it is said."""
    flags = (*BASE, *TOPOLOGIES[topology], *TLM, "--reconstruction-task", kind)
    for noise, schedule, expected in (
        ((), ("--reconstruction-weight", "0.5"), [0.5] * 3),
        (BERT, EXPONENTIAL, [1, 0.1**0.25, 0.1**0.5]),
        (BERT, LINEAR, [1, 0.55, 0.1]),
    ):
        folder = tmp_path / "-".join((noise[1:2] or ("none",)) + schedule[1:2])
        logs = train(folder, *flags, *noise, *schedule, "--max-update", "3")
        weights = [log["reconstruction_weight"] / log["nsentences"] for log in logs]
        assert weights == pytest.approx(expected)
        for log in logs:
            assert log["objective"] > log["loss"] > 0
            assert log["reconstruction_nll_loss"] > 0


def test_stop_and_resume(tmp_path):
    """Noise and lambda go on where they were."""
    flags = (*BASE, *TOPOLOGIES["causal"], *TLM, *BERT, *EXPONENTIAL)
    stopped_and_resumed(tmp_path, *flags, stop=3, end=8)


def test_noise_differs_from_epoch_to_epoch(tmp_path):
    """One batch an epoch, the same each time, and a learning rate that moves nothing."""
    base = [*BASE]
    base[base.index("--max-tokens") + 1] = "4000"
    base[base.index("--lr") + 1] = "1e-30"
    flags = (*base, *TOPOLOGIES["causal"], *TLM, *NO_DROPOUT, "--max-epoch", "3")
    for noise, different in ((BERT, 3), ((), 1)):
        logs = train(tmp_path / str(different), *flags, *noise)
        assert len(logs) == 3
        # another order of the sentences rounds otherwise
        assert len({round(batch["reconstruction_nll_loss"], 2) for batch in logs}) == different


@pytest.mark.parametrize("precision", one_in(2, PRECISIONS, 1))
def test_half_precision(precision, tmp_path):
    flags = (*BASE, *TOPOLOGIES["prefix"], *TLM, *BERT, *NO_DROPOUT, "--max-update", "3")
    half_precision_is_near(tmp_path, precision, *flags, keys=("loss", "reconstruction_nll_loss"))


LANGUAGE_TAGS = {
    "on the source": TAG,
    "on the target": ("--decoder-langtok",),
    "in place of the target's begin": ("--decoder-langtok", "--lang-tok-replacing-bos-eos"),
}


@pytest.mark.parametrize(
    ("tag", "kind", "normalization"),
    one_in(5, product(LANGUAGE_TAGS.values(), ["lm", "ae"], ["sum", "mean"])),
)
def test_text_without_a_source_has_nothing_to_tell(tag, kind, normalization):
    """Alone in a batch it adds nothing to the objective; among pairs, the pairs' sources do."""
    base = [word for word in BASE if word not in TAG]
    flags = (*base, *TOPOLOGIES["causal"], *tag, *BERT, *NO_DROPOUT)
    flags += ("--monolingual", str(monolingual()), "--reconstruction-task", kind)
    task, model, criterion = built(
        *flags, *TLM, "--reconstruction-normalization", normalization, "--max-tokens", "60"
    )
    seen = set()
    for batch in iterate(task, "train", max_tokens=60):
        (noised,), _ = task.step_hooks[0].batches(batch, model, 0)
        fed = noised["net_input"]
        lone = fed["src_lang_id"].eq(fed["tgt_lang_id"])[:, 0]
        seen.add((bool(lone.any()), bool(lone.all())))
        loss, _, logs = criterion(model, noised)
        loss.backward()
        assert torch.isfinite(loss)
        assert (int(logs["reconstruction_ntokens"]) > 0) == (not lone.all())
        if lone.all():
            assert loss.item() == logs["loss"].item()
    assert {(True, True), (False, False)} <= seen
    assert all(
        parameter.grad is None or parameter.grad.isfinite().all()
        for parameter in model.parameters()
    )


# --- decoding --------------------------------------------------------------------------------

WHERE = ("--task", "tdo_translation", "--langs", TASK[1], "--lang-pairs", BOTH_WAYS, *TAG)
GERMAN = (*WHERE, "-s", "en", "-t", "de", "--beam", "2", "--max-len-b", "8")
GERMAN += ("--gen-subset", "test")


def test_a_model_with_noise_is_decoded_with_its_symbol(refused, tmp_path):
    train(tmp_path, *BASE, *TOPOLOGIES["prefix"], *TLM, *BERT, "--max-update", "4")
    flags = ("--path", tmp_path / "checkpoint_last.pt", *GERMAN)
    decoded = hypotheses(generate(*flags, *BERT[:2]))
    assert len(decoded) == 6
    # nothing is disturbed: the same each time, and the checkpoint says it, too
    assert decoded == hypotheses(generate(*flags, "--seed", "9"))
    row = "fairseq-generate {data} {flags} --source-noise none :: --source-noise"
    refused.rows(row, data=databin(), flags=flags)
