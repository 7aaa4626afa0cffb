"""Pre-training, importance, allocation, training on, decoding: each step from the command line."""

import json

import pytest
from support.commands import exit_code, hypotheses
from support.covering import mostly_full
from support.data import TAG, TRAIN, generate, train
from support.prepared import prepared
from support.trainings import stopped_and_resumed

from tdo_compat.checkpoint import safe_load
from tdo_plugin.neuron_files import Importance, Masks

SMALL = (*("--tdo-model-dim", "8", "--tdo-heads", "2", "--tdo-ffn-dim", "12"), "--dropout", "0")
INSTRUCL = ("--criterion", "label_smoothed_cross_entropy_instrucl", "--label-smoothing", "0.1")
CROSS_ENTROPY = ("--criterion", "label_smoothed_cross_entropy_terms", "--label-smoothing", "0.1")
SYSTEMS = {
    "tdo_encoder_decoder": (
        *("--tdo-encoder-layers", "2", "--tdo-decoder-layers", "2"),
        *("--sampling-method", "uniform", *CROSS_ENTROPY),
    ),
    "tdo_transformer": (
        *("--tdo-layers", "3", "--tdo-target-layer", "2", "--tdo-adaptation-dim", "8", *INSTRUCL),
    ),
}


def tdo(*words: object) -> None:
    assert exit_code(*words) == 0


@pytest.mark.parametrize("arch", mostly_full(SYSTEMS))
def test_three_steps(arch, tmp_path):
    data = prepared().root
    languages = ",".join(json.loads((data / "prepared.json").read_text())["languages"])
    pairs = "en-de,de-en,en-fr,fr-en"
    flags = (
        *("--task", "tdo_translation", "--langs", languages, "--lang-pairs", pairs, *TAG, *TRAIN),
        *("--arch", arch, *SMALL, *SYSTEMS[arch], "--disable-validation"),
    )
    train(tmp_path / "plain", *flags, "--max-update", "2", data=data)
    start = tmp_path / "plain" / "checkpoint_last.pt"
    importance, masks = tmp_path / "importance", tmp_path / "masks"
    words = ("--cpu", "--path", start, "--data", data, "--sentences", "8", "--out", importance)
    tdo("neurons", "importance", *words)
    tdo("neurons", "allocate", importance, "--general", "0.5", "--out", masks)
    assert Masks.read(masks).checkpoint == Importance.read(importance).checkpoint
    assert set(Masks.read(masks).pairs) == set(pairs.split(","))

    on = (*flags, "--finetune-from-model", str(start), "--tdo-neuron-masks", str(masks))
    first, second = stopped_and_resumed(tmp_path, *on, stop=2, end=4, data=data)
    unmasked = train(tmp_path / "on", *flags, *on[-4:-2], "--max-update", "4", data=data)
    assert [log["loss"] for log in unmasked] != [log["loss"] for log in first + second]

    path = tmp_path / "parts" / "checkpoint_last.pt"
    assert "core.neurons.masks" in safe_load(path)["model"]
    search = ("--task", "tdo_translation", "--langs", languages, "--lang-pairs", pairs, *TAG)
    for source, target in (("en", "de"), ("de", "fr")):
        output = generate(
            *("--path", path, *search, "--beam", "2", "--max-len-b", "8"),
            *("-s", source, "-t", target, "--gen-subset", "test"),
            data=data,
        )
        assert hypotheses(output)
    out = tmp_path / "out"
    words = ("--cpu", "--out", out, "--beam", 1, "--max-len-b", 8, "--pairs", "en-de,de-fr")
    tdo("translate", data, "--path", path, *words)
    assert {hyp.stem for hyp in out.glob("*.hyp")} == {"en-de", "de-fr"}
