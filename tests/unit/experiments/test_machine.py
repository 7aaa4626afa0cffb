"""The machine that steps run on: GPUs or cores of each, and the machines of a Slurm job."""

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.machine import Machine


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in ("SLURM_JOB_NUM_NODES", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)


def test_gpus_are_dealt_out():
    """Slots by the numbers of GPUs, of jobs, and of GPUs of each."""
    slots = {
        (0, None, 1): ((), ()),
        (0, 3, 1): ((), (), ()),
        (1, None, 1): ((0,),),
        (3, None, 1): ((0,), (1,), (2,)),
        (2, 3, 1): ((0,), (1,), (0,)),
        (8, None, 8): (tuple(range(8)),),
        (4, None, 2): ((0, 1), (2, 3)),
    }
    assert {numbers: Machine.of(*numbers, None).slots for numbers in slots} == slots


def test_the_words_of_a_step():
    machine = Machine.of(8, None, 8, None)
    (slot,) = machine.slots
    assert machine.words("train", slot) == machine.words("all", slot) == ["--gpus", "8"]
    assert machine.words("one", slot) == ["--gpus", "1"] and machine.words("", slot) == []
    cpu = Machine.of(0, 2, 1, 3)
    assert cpu.words("train", ()) == ["--cpu"]
    assert cpu.words("all", ()) == ["--cpu", "--workers", "1"]
    assert cpu.environment(()) == {"OMP_NUM_THREADS": "3"} and cpu.launcher("train") == []


def test_gpus_are_those_that_are_visible(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,7")
    monkeypatch.setenv("OMP_NUM_THREADS", "5")  # is inherited
    assert Machine.of(0, 2, 1, None).environment(()) == {}
    assert Machine.of(2, None, 1, None).environment((1,)) == {"CUDA_VISIBLE_DEVICES": "7"}
    with pytest.raises(UserError, match="`--gpus-each`"):
        Machine.of(2, None, 3, None)


def test_jobs_of_slurm_are_what_computes():
    machine = Machine.of_slurm(2, 3, None, ["--time=9"])
    assert machine.jobs == ((0, 1),) * 3 and machine.slots == ((), ())
    assert machine.submits("train") and machine.submits("one") and not machine.submits("")
    assert not Machine.of(2, None, 1, None).submits("train")


def test_all_machines_of_a_slurm_job_train_together(tmp_path, monkeypatch):
    (tmp_path / "scontrol").write_text("#!/bin/sh\necho first; echo second\n")
    (tmp_path / "scontrol").chmod(0o755)
    job = {"JOB_NUM_NODES": "2", "JOB_NODELIST": "two", "JOB_ID": "41234", "CPUS_PER_TASK": "6"}
    for name, text in job.items():
        monkeypatch.setenv(f"SLURM_{name}", text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    machine = Machine.of(4, None, 4, None)
    (slot,) = machine.slots
    where = ["--nodes", "2", "--rendezvous", "first:21234"]
    assert machine.words("train", slot) == ["--gpus", "4", *where]
    assert machine.words("all", slot) == ["--gpus", "4"]
    assert machine.launcher("train")[:3] == ["srun", "--nodes", "2"]
    assert machine.launcher("all") == []
    assert machine.environment(slot)["SRUN_CPUS_PER_TASK"] == "6"
    with pytest.raises(UserError, match="`--jobs`"):
        Machine.of(4, 2, 2, None)
