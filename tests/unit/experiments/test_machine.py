"""Where steps run: GPUs dealt out, and the words and variables that say so."""

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.machine import Machine


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_NUM_NODES", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("gpus", "jobs", "each", "slots"),
    [
        (4, None, 1, ((0,), (1,), (2,), (3,))),
        (4, 2, 2, ((0, 1), (2, 3))),
        (2, 3, 1, ((0,), (1,), (0,))),
        (0, None, 1, ((), ())),
    ],
)
def test_gpus_are_dealt_out(gpus: int, jobs: int | None, each: int, slots: object) -> None:
    assert Machine.of(gpus, jobs, each, None).slots == slots


def test_variables_of_a_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")
    assert Machine.of(2, None, 1, None).environment((1,)) == {"CUDA_VISIBLE_DEVICES": "7"}
    assert Machine.of(0, 2, 1, 3).environment(()) == {"OMP_NUM_THREADS": "3"}
    monkeypatch.setenv("OMP_NUM_THREADS", "5")  # which processes inherit
    assert Machine.of(0, 2, 1, None).environment(()) == {}


def test_words_by_what_a_step_asks_for() -> None:
    machine = Machine.of(4, 2, 2, None)
    words = {device: machine.words(device, (0, 1)) for device in ("", "train", "all", "one")}
    assert words == {
        "": [],
        "train": ["--gpus", "2"],
        "all": ["--gpus", "2"],
        "one": ["--gpus", "1"],
    }
    assert machine.words("all", ()) == ["--cpu", "--workers", "1"]


def test_jobs_of_slurm_are_what_computes() -> None:
    machine = Machine.of_slurm(2, 3, None, ["--time=9"])
    assert machine.jobs == ((0, 1),) * 3 and machine.slots == ((), ())
    assert machine.submits("train") and machine.submits("one") and not machine.submits("")
    assert not Machine.of(2, None, 1, None).submits("train")


def test_what_makes_no_sense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="`--gpus-each` must be at most 2; it is 3"):
        Machine.of(2, None, 3, None)
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    with pytest.raises(UserError, match="`--jobs` must be 1 with the 2 machines of this Slurm job"):
        Machine.of(2, 2, 1, None)
