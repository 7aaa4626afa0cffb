"""Which file `--path` means: a checkpoint, or what a folder has."""

from argparse import Namespace

import pytest
import torch

from tdo_plugin.evaluation.decoding.decoded_checkpoints import (
    name_of,
    resolve,
    training_of,
    write_run,
)


def write(path, updates, loss=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {
        "args": None,
        "cfg": {"task": Namespace(task="tdo_translation"), "model": Namespace(arch="x")},
        "model": {"weight": torch.full((2,), float(updates))},
        "optimizer_history": [{"num_updates": updates}],
        "extra_state": {"val_loss": loss},
    }
    torch.save(state, path)
    return path


@pytest.fixture
def taken(tmp_path):
    """The file that a folder means, by its path below it, and what is said about it."""

    def run(folder=".", rule=None, **more):
        lines = []
        (path,) = resolve(str(tmp_path / folder), rule, lines.append, **more)
        return path.relative_to(tmp_path).as_posix(), "; ".join(lines)

    return run


def test_the_best_or_the_newest(tmp_path, taken):
    write(tmp_path / "checkpoint_1_10.pt", 10, 1.0)
    write(tmp_path / "checkpoint_1_20.pt", 20, 2.0)
    assert taken()[0] == "checkpoint_1_10.pt"
    write(tmp_path / "checkpoint_last.pt", 25)
    assert taken(rule="last-1")[0] == "checkpoint_last.pt"
    write(tmp_path / "checkpoint_last.pt", 20)  # the copy that it usually is
    assert taken(rule="last-1")[0] == "checkpoint_1_20.pt"
    assert taken(rule="last-2")[0] == "average-last-2.pt"


def test_a_training_without_validation(tmp_path, taken, refused):
    write(tmp_path / "checkpoint_last.pt", 25)
    for default in ("best-1", "best-5"):
        path, said = taken(default=default)
        assert path == "checkpoint_last.pt" and "the newest, as none was validated" in said
    assert taken(rule="last-1")[0] == "checkpoint_last.pt"
    write(tmp_path / "checkpoint_1_20.pt", 20)
    assert taken(default="last-2")[0] == "average-last-2.pt"  # which needs no validation
    best = write(tmp_path / "released" / "checkpoint_best.pt", 20)
    assert taken("released")[0] == best.relative_to(tmp_path).as_posix()
    with refused.raised("a rule", names="`--average` must be at most 0"):
        taken(rule="best-1")


def test_too_few_for_the_protocol(tmp_path, taken, refused):
    write(tmp_path / "checkpoint_1_10.pt", 10, 1.0)
    with refused.raised("not given", names="`--path` must be a folder with 5 checkpoints"):
        taken(default="best-5")


def test_the_folders_of_an_experiment(tmp_path, taken, refused):
    """A system's means the average that was tested, its checkpoints with a rule; a run's its
    only system, or the recommended one."""
    write(tmp_path / "run" / "tdo" / "average.pt", 20)
    write(tmp_path / "run" / "tdo" / "checkpoints" / "checkpoint_1_10.pt", 10, 1.0)
    assert taken("run/tdo") == ("run/tdo/average.pt", f"{tmp_path}/run/tdo: average.pt")
    assert taken("run/tdo", "best-1")[0] == "run/tdo/checkpoints/checkpoint_1_10.pt"
    assert taken("run") == taken("run/tdo")
    assert name_of(tmp_path / "run") == name_of(tmp_path / "run" / "tdo" / "checkpoints") == "tdo"
    assert training_of(tmp_path / "run") == tmp_path / "run" / "tdo" / "checkpoints"
    write(tmp_path / "run" / "other" / "average.pt", 20)
    with refused.raised("a run of two systems", names="has other, tdo"):
        taken("run")
    write_run(tmp_path / "run", "other")
    assert taken("run") == taken("run/other")
    with refused.raised("an average alone", names="average.pt only"):
        taken("run/other", "best-1")
    with refused.raised("no model", names="has no checkpoint, only run"):
        taken()


def test_a_model_twice_is_no_ensemble(tmp_path, refused):
    path = write(tmp_path / "checkpoint_best.pt", 10, 1.0)
    with refused.raised("twice", names="different models"):
        resolve(f"{path}:{tmp_path}", None, print)
    copy = tmp_path / "copy.pt"
    copy.write_bytes(path.read_bytes())
    with refused.raised("its copy", names="different models"):
        resolve(f"{path}:{copy}", None, print)
