"""The concatenating baseline as fairseq's commands meet it."""

import subprocess
import sys

import pytest
import torch
from support.commands import hypotheses, scores
from support.concatenating import PLACE, speed
from support.data import CROSS_ENTROPY, MODEL, TAG, TASK, TRAIN, built, databin, generate, iterate
from support.data import train as train_here

from tdo_plugin.errors import UserError
from tdo_plugin.models.presets import PRESETS
from tdo_plugin.models.tdo_transformer import TdoTransformer

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN)
CONCATENATING = ("--arch", "concatenating_transformer", *MODEL)
PLAIN = ("--criterion", "plain_cross_entropy", "--label-smoothing", "0.1")
OURS = ("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1")


@pytest.fixture(scope="module", autouse=True)
def baseline():
    return speed().concatenating


def test_every_decoder_only_preset_has_its_baseline(baseline):
    from fairseq.models import ARCH_MODEL_REGISTRY

    registered = {
        name
        for name, model in ARCH_MODEL_REGISTRY.items()
        if model is baseline.ConcatenatingTransformer
    }
    expected = {
        preset.replace("tdo", "concatenating", 1) for preset in PRESETS if "encoder" not in preset
    }
    assert registered == expected
    assert len(registered) == 12


@pytest.mark.parametrize("system", ["transformer", "prefix_decoder_only", "causal_decoder_only"])
def test_checkpoints_are_interchangeable(system):
    small = ("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12")
    flags = (*BASE, *small, "--criterion", "cross_entropy")
    ours = built(*flags, "--arch", f"tdo_{system}")[1]
    plain = built(*flags, "--arch", f"concatenating_{system}", "--seed", "4")[1]
    assert type(ours) is TdoTransformer
    our_state, plain_state = ours.state_dict(), plain.state_dict()
    assert list(our_state) == list(plain_state)
    assert any(not torch.equal(our_state[name], plain_state[name]) for name in our_state)
    plain.load_state_dict(our_state)
    assert all(torch.equal(our_state[name], tensor) for name, tensor in plain.state_dict().items())
    ours.load_state_dict(plain_state)


def test_an_encoder_decoder_is_refused():
    flags = ("--tdo-topology", "encoder-decoder", "--tdo-layers", "0", "--tdo-target-layer", "0")
    layers = ("--tdo-encoder-layers", "1", "--tdo-decoder-layers", "1")
    with pytest.raises(
        UserError, match=r"`--tdo-topology` must be decoder-only .* encoder-decoder"
    ):
        built(*BASE, *CONCATENATING, *flags, *layers, *PLAIN)


@pytest.mark.parametrize("part", ["cut-residual", "tpdm-layer"])
def test_parts_of_the_source_alone_are_refused(part):
    with pytest.raises(UserError, match="`--tdo-cut-residual` and `--tdo-tpdm-layer` must be 0"):
        built(*BASE, *CONCATENATING, f"--tdo-{part}", "1", *PLAIN)


def test_instrucl_s_demands_are_the_term_s():
    without_tag = [flag for flag in BASE if flag not in TAG]
    with pytest.raises(UserError, match="`--encoder-langtok` must be tgt"):
        built(*without_tag, *CONCATENATING, *PLAIN, "--plain-instrucl")


def test_without_instrucl_the_loss_is_for_any_model():
    task, model, criterion = built(*BASE, "--arch", "tdo_encoder_decoder_small", *PLAIN)
    stock = built(*BASE, "--arch", "tdo_encoder_decoder_small", *CROSS_ENTROPY)[2]
    batch = iterate(task, "train")[0]
    model.eval()
    assert torch.equal(criterion(model, batch)[0], stock(model, batch)[0])


@pytest.mark.parametrize("instrucl", [False, True], ids=["cross-entropy", "instrucl"])
def test_a_training_is_the_same_training(instrucl, tmp_path):
    flags = (*BASE, "--dropout", "0", "--max-epoch", "1", "--no-save", "--disable-validation")
    ours = [*OURS, *(["--loss-terms", "instrucl"] if instrucl else [])]
    plain = [*PLAIN, *(["--plain-instrucl"] if instrucl else [])]
    our_logs = train_here(tmp_path / "own", *flags, "--arch", "tdo_transformer", *MODEL, *ours)
    plain_logs = train_here(tmp_path / "other", *flags, *CONCATENATING, *plain)
    assert len(our_logs) == len(plain_logs) > 3
    for our_log, plain_log in zip(our_logs, plain_logs, strict=True):
        for key, value in plain_log.items():
            assert value == pytest.approx(our_log[key], rel=1e-4), key


def test_dropout_is_on_in_training_alone():
    model = built(*BASE, *CONCATENATING, "--dropout", "0.5", *PLAIN)[1]
    source, previous = torch.randint(4, 20, (3, 5)), torch.randint(4, 20, (3, 6))

    def same():
        pair = (model(source, prev_output_tokens=previous)[0] for _ in range(2))
        return torch.equal(*pair)

    assert not same()
    model.eval()
    assert same()


def test_a_user_dir_for_fairseq_train_and_generate(tmp_path):
    """In processes of their own; the package's model translates alike with those parameters."""
    place = ("--user-dir", str(PLACE.parent))
    training = (
        *(str(databin()), *place, *BASE, *CONCATENATING, *PLAIN, "--plain-instrucl"),
        *("--max-update", "4", "--save-dir", str(tmp_path)),
    )
    done = subprocess.run(
        [sys.executable, "-m", "fairseq_cli.train", *training],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    path = tmp_path / "checkpoint_last.pt"
    stored = torch.load(path, weights_only=False)
    assert stored["cfg"]["model"].arch == "concatenating_transformer"

    search = (
        *("--task", "tdo_translation", *TASK, *TAG, "-s", "en", "-t", "de", "--beam", "4"),
        *("--gen-subset", "test", "--max-len-b", "12"),
    )
    plain = generate("--path", path, *search)
    stored["cfg"]["model"].arch = "tdo_transformer"
    stored["cfg"]["model"]._name = "tdo_transformer"
    torch.save(stored, tmp_path / "ours.pt")
    ours = generate("--path", tmp_path / "ours.pt", *search)
    assert hypotheses(plain) == hypotheses(ours)
    assert len(hypotheses(plain)) == 6
    assert scores(plain) == pytest.approx(scores(ours), abs=1e-3)
