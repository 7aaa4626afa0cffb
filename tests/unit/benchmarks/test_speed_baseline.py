"""The concatenating baseline as fairseq's commands meet it; tests/parity has its numbers."""

import sys

import pytest
import torch
from support import data
from support.commands import hypotheses, scores
from support.concatenating import PLACE, speed
from support.data import TAG, built
from support.processes import finished, heard

speed()  # registers its models
BASE = ("--task", "tdo_translation", *data.TASK, *data.TRAIN)
CONCATENATING = ("--arch", "concatenating_transformer", *data.MODEL)
PLAIN = ("--criterion", "plain_cross_entropy", "--label-smoothing", "0.1")


@pytest.mark.parametrize("system", ["transformer", "causal_decoder_only"])
def test_checkpoints_are_interchangeable(system):
    small = ("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12")
    flags = (*BASE, *TAG, *small, "--criterion", "cross_entropy")
    ours = built(*flags, "--arch", f"tdo_{system}")[1]
    plain = built(*flags, "--arch", f"concatenating_{system}", "--seed", "4")[1]
    plain.load_state_dict(ours.state_dict())
    state = plain.state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in ours.state_dict().items())
    ours.load_state_dict(state)


def test_what_it_refuses(refused):
    refused.rows(
        """
        fairseq-train {data} {base} {tag} {plain}
            {decoder}                             :: --tdo-topology
            --tdo-cut-residual 1                  :: --tdo-cut-residual
            --tdo-tpdm-layer 1                    :: --tdo-tpdm-layer
            --tdo-lalt identity                   :: --tdo-lalt
            --tdo-position-embedding rotary       :: --tdo-position-embedding
        fairseq-train {data} {base} {plain} --plain-instrucl :: --encoder-langtok
        """,
        data=data.databin(),
        base=(*BASE, *CONCATENATING),
        tag=TAG,
        plain=PLAIN,
        decoder=data.ENCODER_DECODER,
    )


def test_its_loss_without_instrucl_is_for_any_model():
    flags = (*BASE, *TAG, "--arch", "tdo_encoder_decoder_small")
    task, model, criterion = built(*flags, *PLAIN)
    stock = built(*flags, *data.CROSS_ENTROPY)[2]
    batch = data.iterate(task, "train")[0]
    model.eval()
    assert torch.equal(criterion(model, batch)[0], stock(model, batch)[0])


@pytest.mark.full
def test_a_user_dir_for_fairseq_train_and_generate(tmp_path):
    """In processes of their own; the package's model translates alike with those parameters."""
    words = (*BASE, *TAG, *CONCATENATING, *PLAIN, "--plain-instrucl", "--max-update", "4")
    place = ("--user-dir", PLACE.parent, "--save-dir", tmp_path)
    train = (sys.executable, "-m", "fairseq_cli.train", data.databin(), *words, *place)
    heard(finished(train))
    path, ours = tmp_path / "checkpoint_last.pt", tmp_path / "ours.pt"
    stored = torch.load(path, weights_only=False)
    assert stored["cfg"]["model"].arch == "concatenating_transformer"
    stored["cfg"]["model"].arch = stored["cfg"]["model"]._name = "tdo_transformer"
    torch.save(stored, ours)

    search = ("--task", "tdo_translation", *data.TASK, *TAG, "-s", "en", "-t", "de", "--beam", "4")
    search += ("--gen-subset", "test", "--max-len-b", "12")
    plain, own = (data.generate("--path", model, *search) for model in (path, ours))
    assert hypotheses(plain) == hypotheses(own)
    assert len(hypotheses(plain)) == 6
    assert scores(plain) == pytest.approx(scores(own), abs=1e-3)
