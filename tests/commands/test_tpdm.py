"""TPDM through fairseq: training, resuming, several workers, half precision, decoding."""

import pytest
import torch
from fairseq import tasks
from support.commands import hypotheses, logged, scores, succeed, two_workers
from support.covering import mostly_full
from support.data import (
    CROSS_ENTROPY,
    ENCODER_DECODER,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    databin,
    generate,
    iterate,
    train,
    training_arguments,
)
from support.made import made_once
from support.trainings import (
    PRECISIONS,
    assert_same_parameters,
    half_precision_is_near,
    last_state,
    stopped_and_resumed,
)

TPDM = (
    *("--criterion", "label_smoothed_cross_entropy_tpdm", "--label-smoothing", "0.1"),
    *("--tdo-tpdm-layer", "1"),
)
GATED = (*TPDM, "--tdo-tpdm-gate", "relaxed-bernoulli")
PREFIX = ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, *TDO)
NO_DROPOUT = ("--dropout", "0", "--attention-dropout", "0", "--activation-dropout", "0")
DECODE = ("--task", "tdo_translation", *TASK, *TAG, "-s", "de", "-t", "fr", "--beam", "3")
DECODE += ("--max-len-b", "8")
UNREAD = ("pre_ffn.positional.", "pre_ffn.gate.")


def generator_of(state):
    return state["task_state"]["remembered"]["tpdm_generator"]


def same(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


SYSTEMS = {
    "tdo": (*TPDM, "--tdo-tpdm-layer", "2"),
    "tdo, gated": GATED,
    "encoder-decoder, hard gates": (*GATED, *ENCODER_DECODER, "--tdo-tpdm-gate=hard-concrete"),
    "prefix": (*TPDM, *PREFIX, "--tdo-tpdm-layer", "2"),
    "encoder-decoder": (*TPDM, *ENCODER_DECODER, "--tdo-share-embeddings", "decoder"),
    "sinusoidal anchor": (*TPDM, "--tpdm-anchor", "sinusoidal"),
    "without L_d": (*TPDM, "--tpdm-disentangle-weight", "0"),
    "without L_p": (*TPDM, "--tpdm-position-weight", "0"),
    "learned positions": (*TPDM, "--tdo-position-embedding", "learned"),
    "no positions, and a cut": (
        *(*TPDM, "--tdo-position-embedding", "none"),
        *("--tdo-cut-residual", "2"),
    ),
    "with InstruCL and LALN": (
        *(*TPDM, "--criterion", "label_smoothed_cross_entropy_terms"),
        *("--loss-terms", "instrucl,tpdm", "--tdo-laln", "both"),
    ),
}


@made_once
def model(folder, name):
    flags = (*BASE, *SYSTEMS[name], "--max-update", "15", "--no-epoch-checkpoints")
    output = succeed("train", databin(), *flags, "--save-dir", folder)
    (folder / "said").write_text(output)


def trained(name):
    """The folder of a short training from the command line, and what it printed."""
    return model(name), (model(name) / "said").read_text()


@pytest.mark.parametrize("name", mostly_full(SYSTEMS))
def test_training_and_decoding_from_the_command_line(name):
    folder, output = trained(name)
    expected = {"d": "L_d" not in name, "g": "L_d" not in name, "p": "L_p" not in name}
    expected |= {"open": "gate" in name, "gate": "gate" in name}
    for key, present in expected.items():
        for prefix in ("", "valid_"):
            values = logged(output, f"{prefix}tpdm_{key}")
            assert bool(values) == present, prefix + key
            assert all(value == value and abs(value) < 1e3 for value in values)
    if "gate" in name:
        assert all(0 <= share <= 1 for share in logged(output, "tpdm_open"))
    output = generate("--path", folder / "checkpoint_last.pt", *DECODE)
    assert len(hypotheses(output)) == 6


@pytest.mark.parametrize("name", mostly_full(["tdo, gated", "encoder-decoder, hard gates"]))
def test_decoding_reads_neither_generator_nor_positional_head_nor_gate(name, tmp_path):
    folder, _ = trained(name)
    state = last_state(folder)
    spoiled = [key for key in state["model"] if any(part in key for part in UNREAD)]
    assert len(spoiled) == 6 + 4
    for key in spoiled:
        state["model"][key] = torch.full_like(state["model"][key], float("nan"))
    del state["task_state"]["remembered"]
    torch.save(state, tmp_path / "spoiled.pt")
    whole, less = (
        generate("--path", path, *DECODE)
        for path in (folder / "checkpoint_last.pt", tmp_path / "spoiled.pt")
    )
    assert hypotheses(whole) == hypotheses(less)
    assert scores(whole) == scores(less)


def test_validation_from_the_command_line_measures_with_the_trained_generator():
    folder, output = trained("tdo")
    again = succeed(
        "validate",
        *(databin(), "--path", folder / "checkpoint_last.pt", "--task", "tdo_translation"),
        *(*TASK, *TAG, "--max-tokens", "120", "--cpu", "--log-format", "json"),
    )
    for key in ("tpdm_d", "tpdm_g", "tpdm_p"):
        assert logged(again, f"valid_{key}")[-1] == logged(output, f"valid_{key}")[-1], key


# --- stopping and going on -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tdo", "encoder-decoder, hard gates"])
def test_stop_and_resume(name, tmp_path):
    """With dropout, drawn gates, accumulation and a stop within an epoch."""
    flags = (*BASE, *SYSTEMS[name], "--update-freq", "2", "--disable-validation")
    stopped_and_resumed(tmp_path, *flags, stop=2, end=4)
    kept = [generator_of(last_state(tmp_path / part)) for part in ("through", "parts")]
    same(kept[0]["generator"], kept[1]["generator"])
    assert [int(adam["step"]) for adam in kept[1]["optimizer"]["state"].values()] == [8] * 18


def test_a_checkpoint_without_a_generator(refused, tmp_path):
    """Trained on cross-entropy alone, say; a new generator must be asked for."""
    flags = (*BASE, *CROSS_ENTROPY, *TPDM[4:], "--max-update", "1", "--disable-validation")
    train(tmp_path, *flags)
    more = (*BASE, *TPDM, "--max-update", "2", "--reset-optimizer")
    with refused.raised("no generator", names="--tpdm-new-generator"):
        train(tmp_path, *more)
    train(tmp_path, *more, "--tpdm-new-generator", "--disable-validation")
    assert generator_of(last_state(tmp_path))


def test_the_generator_s_optimizer_is_reset_with_the_model_s(tmp_path):
    """`--finetune-from-model` does so once, and nothing when the training goes on."""
    flags = (*BASE, *TPDM, "--disable-validation")

    def steps(folder):
        state = generator_of(last_state(folder))["optimizer"]["state"]
        return {int(adam["step"]) for adam in state.values()}

    train(tmp_path / "first", *flags, "--max-update", "2")
    first = tmp_path / "first" / "checkpoint_last.pt"
    tuned = (*flags, "--finetune-from-model", str(first))
    train(tmp_path / "tuned", *tuned, "--max-update", "1")
    assert steps(tmp_path / "tuned") == {1}
    train(tmp_path / "tuned", *tuned, "--max-update", "3")
    assert steps(tmp_path / "tuned") == {3}
    train(tmp_path / "first", *flags, "--max-update", "3", "--reset-optimizer")
    assert steps(tmp_path / "first") == {3}  # counted anew, as the updates are, and not 5


def test_the_module_without_its_losses(refused, tmp_path, caplog):
    flags = (*BASE, *CROSS_ENTROPY, *TPDM[4:], "--max-update", "1", "--disable-validation")
    with caplog.at_level("WARNING"):
        train(tmp_path, *flags)
    assert "`--criterion` must have the loss term tpdm to train the positional head" in caplog.text
    workers = ("--distributed-world-size", "2", "--ddp-backend", "legacy_ddp")
    args = training_arguments(*flags, *workers)
    task = tasks.setup_task(args)
    with refused.raised("two workers", names="--criterion"):
        task.build_criterion(args)


def test_averages_and_extensions_remember_the_newest_generator(tmp_path):
    from tdo_plugin import cli

    flags = (*BASE, *TPDM, "--disable-validation", "--save-interval-updates", "1")
    train(tmp_path, *flags, "--max-update", "2")
    average, larger = tmp_path / "average.pt", tmp_path / "larger.pt"
    folder = str(tmp_path)
    assert cli.main(["average", "--path", folder, "--last", "2", "--out", str(average)]) == 0
    words = ["extend", str(databin()), "--path", str(average), "--langs", "it"]
    assert cli.main([*words, "--out", str(larger)]) == 0
    newest = generator_of(last_state(tmp_path))
    for path in (average, larger):
        kept = generator_of(torch.load(path, weights_only=False))
        same(kept["generator"], newest["generator"])


# --- workers and precision -------------------------------------------------------------------


@pytest.mark.full
def test_two_processes_that_go_on_equal_two_without_a_stop(tmp_path):
    """All of them have the generator and its optimizer, not only the one that reads the file."""
    flags = (*BASE, *TPDM, *NO_DROPOUT, "--disable-validation")
    for name, updates in (("through", "3"), ("parts", "2"), ("parts", "3")):
        two_workers(databin(), *flags, "--max-update", updates, save_dir=tmp_path / name)
    assert_same_parameters(tmp_path / "through", tmp_path / "parts", atol=1e-6)


@pytest.mark.parametrize("flags", [TPDM, GATED, SYSTEMS["without L_d"], SYSTEMS["without L_p"]])
def test_every_parameter_has_a_gradient(flags):
    """As distributed training demands: none may have had no part in the forward pass."""
    task, model, criterion = built(*BASE, *flags)
    criterion(model, iterate(task, "train")[0])[0].backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


@pytest.mark.parametrize("precision", mostly_full(PRECISIONS))
def test_half_precision_trains(precision, tmp_path):
    flags = (*BASE, *TPDM, *NO_DROPOUT, "--max-update", "4", "--disable-validation")
    keys = ("loss", "tpdm_p", "tpdm_g")
    half_precision_is_near(tmp_path, precision, *flags, keys=keys, rel=0.1)
    kept = generator_of(last_state(tmp_path / "half"))["generator"]
    assert {tensor.dtype for tensor in kept.values()} == {torch.float32}
