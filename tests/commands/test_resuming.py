"""A training goes on from its last checkpoint or says why not; nothing is overwritten."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from support.commands import logged
from support.covering import mostly_full
from support.ending import Training

from tdo_compat.checkpoint import safe_load
from tdo_compat.resuming import with_known_metric
from tdo_plugin.runtime.lock import alone

LAST, NEWEST = "checkpoint_last.pt", "checkpoint_1_2.pt"
FLAGS = ("--save-interval-updates", "2", "--max-update", "3")


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """The folder of a training of three updates, with a checkpoint after the second."""
    Training(tmp_path, *FLAGS).end()
    assert {path.name for path in tmp_path.glob("*.pt")} == {LAST, NEWEST}
    return tmp_path


def refused(folder: Path, *flags: str) -> str:
    """What a training says that does not begin; it leaves the folder as it is."""
    before = {path: path.read_bytes() for path in folder.glob("*.pt")}
    output, errors = Training(folder, *(flags or FLAGS), name="again").end(1)
    assert not logged(output, "loss") and errors.count("\n") == 1
    assert before == {path: path.read_bytes() for path in folder.glob("*.pt")}
    return errors


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 64]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage", mostly_full([None, flipped, lambda content: content[:-1000]], quick=2)
)
def test_without_its_last_checkpoint_it_is_not_begun_again(damage, trained):
    last = trained / LAST
    content = last.read_bytes()
    last.unlink()
    if damage:
        last.write_bytes(damage(content))
    errors = refused(trained)
    assert f"the newest intact one is {trained / NEWEST}, of update 2" in errors
    assert f"`cp {trained / NEWEST} {last}`" in errors

    last.write_bytes((trained / NEWEST).read_bytes())
    output, _ = Training(trained, *FLAGS, name="again").end()
    assert len(logged(output, "loss")) == 1


def test_where_no_checkpoint_is_intact_it_says_so(trained):
    for path in trained.glob("*.pt"):
        path.write_bytes(path.read_bytes()[:-1000])
    assert f"no other checkpoint in {trained} is intact" in refused(trained)


def test_a_finished_training_stays_finished(trained):
    """A job that is queued again finds nothing to do; what a signal left out is made up for."""
    before = (trained / LAST).read_bytes()
    output, _ = Training(trained, *FLAGS, name="again").end()
    assert not logged(output, "loss") and "num_updates 3 has reached --max-update 3" in output
    assert (trained / LAST).read_bytes() == before

    output, _ = Training(trained, *FLAGS, name="validated", valid=True).end()
    assert not logged(output, "loss") and len(logged(output, "valid_loss")) == 1
    state = safe_load(str(trained / LAST))
    assert state["extra_state"]["val_loss"] > 0
    assert state["optimizer_history"][-1]["num_updates"] == 3


def test_patience_counts_on(tmp_path):
    """Nothing improves: the fourth validation ends it, in whatever process it comes."""
    never = ("--lr", "1e-12", "--patience", "3", "--save-interval-updates", "1")
    for updates in (2, 4, 8):
        output, _ = Training(
            tmp_path, *never, "--max-update", str(updates), valid=True, name=f"to{updates}"
        ).end()
        if updates < 8:
            assert logged(output, "valid_loss")
    assert "3 validations without an improvement have reached --patience 3" in output
    assert not logged(output, "loss")
    # what is fine-tuned begins to count anew
    tuned = (*never, "--max-update", "1", "--finetune-from-model", str(tmp_path / LAST))
    output, _ = Training(tmp_path / "tuned", *tuned, valid=True, name="tuned").end()
    assert len(logged(output, "loss")) == 1


def test_a_checkpoint_that_is_named_needs_no_other(trained):
    (trained / LAST).unlink()
    words = (*FLAGS[:2], "--max-update", "4", "--continue-once", str(trained / NEWEST))
    output, _ = Training(trained, *words, name="again").end()
    assert len(logged(output, "loss")) == 2


def test_the_metric_must_be_measured():
    looked_up = with_known_metric(lambda cfg, trainer, stats, best: (stats, best))
    cfg = SimpleNamespace(checkpoint=SimpleNamespace(best_checkpoint_metric="blah"))
    assert looked_up(cfg, None, {"blah": 1}, True) == ({"blah": 1}, True)
    with pytest.raises(ValueError, match="must be one of loss, ppl; it is blah"):
        looked_up(cfg, None, {"ppl": 1, "loss": 1}, True)


@pytest.mark.parametrize(
    ("flags", "named"),
    mostly_full(
        [
            (("--lr-scheduler", "inverse_sqrt"), "`--lr-scheduler` must be fixed"),
            (("--optimizer", "adagrad"), "`--optimizer` must be adam"),
            (
                ("--criterion", "label_smoothed_cross_entropy_terms"),
                "`--criterion` must be",
            ),
        ]
    ),
)
def test_another_optimizer_is_refused_or_reset(flags, named, trained):
    errors = refused(trained, *FLAGS, *flags)
    assert named in errors and "`--reset-" in errors


def test_two_trainings_do_not_share_a_folder(trained):
    with alone(trained):
        assert "no other run" in refused(trained)
