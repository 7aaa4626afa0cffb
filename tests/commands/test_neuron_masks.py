"""Training on with masks of neurons, resuming it, and decoding, from the command line."""

import pytest
import torch
from support.commands import command, hypotheses
from support.covering import mostly_full
from support.data import (
    BOTH_WAYS,
    CROSS_ENTROPY,
    ENCODER_DECODER,
    TAG,
    TASK,
    TDO,
    TRAIN,
    built,
    databin,
    generate,
    train,
)
from support.neuron_files import write_masks
from support.trainings import found_by_both_searches, stopped_and_resumed

from tdo_compat.checkpoint import safe_load
from tdo_plugin import cli
from tdo_plugin.modules.methods.neurons import projections
from tdo_plugin.neuron_files import Masks

BASE = ("--task", "tdo_translation", *TASK, *TAG, *TRAIN, "--disable-validation", *CROSS_ENTROPY)
SYSTEMS = {"two-stage": TDO, "encoder-decoder": (*TDO, *ENCODER_DECODER)}
GENERATE = ("--task", "tdo_translation", *TASK, *TAG, "--beam", "3", "--max-len-b", "8")
EN_FR = ("-s", "en", "-t", "fr", "--gen-subset", "test")
DE_FR = ("-s", "de", "-t", "fr", "--gen-subset", "test")


@pytest.fixture(params=mostly_full(SYSTEMS))
def begun(request, tmp_path):
    """Flags of a plain training, its checkpoint, and masks of that."""
    flags = (*BASE, *SYSTEMS[request.param])
    train(tmp_path / "plain", *flags, "--max-update", "2")
    start = tmp_path / "plain" / "checkpoint_last.pt"
    core = built(*flags)[1].core
    file = write_masks(tmp_path / "masks", core, BOTH_WAYS.split(","), safe_load(start)["model"])
    on = (*flags, "--tdo-neuron-masks", str(file), "--finetune-from-model", str(start))
    return core, start, on


def test_trained_on_resumed_and_decoded(begun, tmp_path):
    core, start, on = begun
    on = (*on, "--weight-decay", "0.1")
    stopped_and_resumed(tmp_path, *on, stop=2, end=4)

    path = tmp_path / "parts" / "checkpoint_last.pt"
    before, after = safe_load(start)["model"], safe_load(path)["model"]
    for name in projections(core.stack):
        old, new = (state[f"core.stack.{name}.weight"] for state in (before, after))
        assert torch.equal(old[-1], new[-1]), f"the last of {name} is no pair's"
        assert not torch.equal(old[0], new[0])

    for direction in (EN_FR, DE_FR):
        assert len(found_by_both_searches(path, *GENERATE, *direction)) == 6

    typed = (databin().parent / "text" / "test.en-fr.en").read_text(encoding="utf-8")
    words = (databin(), *GENERATE, *EN_FR[:4], "--cpu", "--path", path)
    interactive = command("interactive", *words, stdin=typed)
    assert interactive.returncode == 0, interactive.stderr
    output = hypotheses(generate("--path", path, *GENERATE, *EN_FR))
    assert hypotheses(interactive.stdout) == output

    # wherever the file is
    (tmp_path / "masks").rename(tmp_path / "elsewhere")
    words = ("--path", path, *GENERATE, *EN_FR, "--model-overrides")
    assert hypotheses(generate(*words[:-1])) == output
    overrides = str({"tdo_neuron_masks": str(tmp_path / "elsewhere")})
    assert hypotheses(generate(*words, overrides)) == output


def test_masks_begin_with_their_checkpoint(begun, refused, tmp_path):
    _, start, on = begun
    for more in ((), ("--restore-file", "no.pt", "--reset-optimizer")):
        with refused.raised(f"no checkpoint {' '.join(more)}", names="no checkpoint was loaded"):
            train(tmp_path / "new", *on[:-2], *more, "--max-update", "1")
    # in the folder of that checkpoint fairseq would go on with its optimizer
    before = start.read_bytes()
    words = (*on, "--max-update", "3", "--save-dir", start.parent, "--distributed-world-size", "1")
    refused("fairseq-train", databin(), *words, names="--save-dir", process=True)
    assert start.read_bytes() == before


def test_neurons_of_pairs_that_are_not_trained_never_move(begun, tmp_path):
    core, start, on = begun
    pairs = BOTH_WAYS.split(",")
    words = (*on, "--weight-decay", "0.1", "--lang-pairs", ",".join(pairs[:1]))
    train(tmp_path / "run", *words, "--max-update", "3")
    masks = Masks.read(tmp_path / "masks")
    states = [safe_load(path)["model"] for path in (start, tmp_path / "run" / "checkpoint_last.pt")]
    untrained = 0
    for name in projections(core.stack):
        old, new = (state[f"core.stack.{name}.weight"] for state in states)
        on_for = masks.modules[name][0]
        untrained += int((masks.modules[name].any(0) & ~on_for).sum())
        assert torch.equal(old[~on_for], new[~on_for]), name
        assert not torch.equal(old[on_for], new[on_for]), name
    assert untrained > 0


def test_averaged(begun, tmp_path):
    _, _, on = begun
    train(tmp_path / "run", *on, "--max-update", "4", "--save-interval-updates", "2")
    average = tmp_path / "average.pt"
    words = ["average", "--path", str(tmp_path / "run"), "--last", "2", "--out", str(average)]
    assert cli.main(words) == 0
    stored = safe_load(tmp_path / "run" / "checkpoint_last.pt")["model"]
    averaged = safe_load(average)["model"]
    for name in ("masks", "general", "pairs", "digest"):
        assert torch.equal(averaged[f"core.neurons.{name}"], stored[f"core.neurons.{name}"])
    (tmp_path / "masks").unlink()
    assert len(hypotheses(generate("--path", average, *GENERATE, *EN_FR))) == 6


def test_erased(begun, refused, tmp_path):
    _, start, on = begun
    train(tmp_path / "run", *on, "--max-update", "1")
    path, out = tmp_path / "run" / "checkpoint_last.pt", tmp_path / "ablated.pt"
    refused.rows(
        """
        neurons ablate --path {path} --out {out}
            --general 1.5                 :: --general
            --specific 0.5                :: --pair
            --specific 0.5 --pair en-xx   :: --pair
            --general 0.5 --path {start}  :: --tdo-neuron-masks
        extend {data} --path {path} --out {out} --langs it :: --tdo-neuron-masks
        """,
        path=path,
        out=out,
        start=start,
        data=databin(),
    )
    words = ["neurons", "ablate", "--path", str(path), "--out", str(out), "--general", "1"]
    assert cli.main(words) == 0
    stored = safe_load(out)["model"]
    assert not stored["core.neurons.general"].any()
    assert len(hypotheses(generate("--path", out, *GENERATE, *EN_FR))) == 6
    refused(*words, names="already exists")
