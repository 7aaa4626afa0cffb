"""The machine that steps run on: their share of GPUs or cores, and matching options."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from tdo_plugin.errors import UserError
from tdo_plugin.launch.environment import threads_each, visible_gpu
from tdo_plugin.launch.slurm_script import GIVEN_CORES, PATIENCE, PORTS, STAYS, TAKEN_CORES

Slot = tuple[int, ...]  # GPU numbers; empty for the CPU
HERE = 2  # steps at a time, without GPUs
JOBS = 16  # Slurm jobs at a time


@dataclass(frozen=True)
class Machine:
    """The resources for steps.

    Attributes:
        slots: the GPUs of each concurrent step.
        threads: CPU threads per step; None leaves them to the environment.
        nodes: machines of the surrounding Slurm job that train together.
        jobs: the GPUs of each concurrent Slurm job; if not empty, computing steps are submitted as
            jobs, and other steps run in `slots`.
        sbatch: further options of sbatch for jobs.
    """

    slots: tuple[Slot, ...]
    threads: int | None = None
    nodes: int = 1
    jobs: tuple[Slot, ...] = ()
    sbatch: tuple[str, ...] = ()

    @classmethod
    def of(cls, gpus: int, jobs: int | None, each: int, threads: int | None) -> Machine:
        """A machine whose GPUs are distributed among concurrent steps.

        Args:
            gpus: number of GPUs.
            jobs: concurrent steps (default: as many as the GPUs allow; two on the CPU).
            each: GPUs per step.
            threads: CPU threads per step (default: an equal share).

        Raises:
            UserError: a step would get more GPUs than exist; several concurrent steps on several
                machines.
        """
        nodes = int(os.environ.get("SLURM_JOB_NUM_NODES", "1"))
        if each > max(1, gpus):
            raise UserError(f"`--gpus-each` must be at most {max(1, gpus)}; it is {each}")
        if nodes > 1 and jobs not in (None, 1):
            raise UserError(
                f"`--jobs` must be 1 with the {nodes} machines of this Slurm job; it is {jobs}"
            )
        count = jobs or (1 if nodes > 1 else gpus // each if gpus else HERE)
        own = threads if threads is not None or gpus else threads_each(count)
        return cls(_dealt(count, gpus, each), own, nodes)

    @classmethod
    def of_slurm(
        cls, gpus: int, jobs: int | None, threads: int | None, sbatch: Sequence[str]
    ) -> Machine:
        """A machine that submits Slurm jobs with `gpus` GPUs each."""
        each = (tuple(range(gpus)),) * (jobs or JOBS)
        return cls(((),) * HERE, threads, jobs=each, sbatch=tuple(sbatch))

    def submits(self, device: str) -> bool:
        """Whether a step with this device requirement is submitted as a Slurm job."""
        return bool(device and self.jobs)

    def environment(self, slot: Slot) -> dict[str, str]:
        """Environment variables of the processes in a slot."""
        variables = {} if self.threads is None else {"OMP_NUM_THREADS": str(self.threads)}
        if slot:
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(visible_gpu, slot))
        if self.nodes > 1:
            variables["SLURM_WAIT"] = os.environ.get("SLURM_WAIT", str(PATIENCE))
            if cores := os.environ.get(GIVEN_CORES):
                variables[TAKEN_CORES] = cores
        return variables

    def words(self, device: str, slot: Slot) -> list[str]:
        """The machine options of a command with this device requirement."""
        if not device:
            return []
        if not slot:
            return ["--cpu", *(["--workers", "1"] if device == "all" else [])]
        words = ["--gpus", str(1 if device == "one" else len(slot))]
        if device == "train" and self.nodes > 1:
            words += ["--nodes", str(self.nodes), "--rendezvous", _rendezvous()]
        return words

    def launcher(self, device: str) -> list[str]:
        """The words before a command, if several machines train together."""
        if device != "train" or self.nodes == 1:
            return []
        return [
            "srun",
            "--nodes",
            str(self.nodes),
            "--ntasks-per-node",
            "1",
            STAYS,
        ]


def _dealt(count: int, gpus: int, each: int) -> tuple[Slot, ...]:
    """The GPUs of each slot, assigned in turn; none without GPUs."""
    if not gpus:
        return ((),) * count
    return tuple(
        tuple((slot * each + number) % gpus for number in range(each)) for slot in range(count)
    )


def _rendezvous() -> str:
    """The job's first machine and a port that other jobs do not use."""
    nodes = os.environ["SLURM_JOB_NODELIST"]
    listed: Sequence[str] = subprocess.run(
        ["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True
    ).stdout.split()
    return f"{listed[0]}:{PORTS + int(os.environ['SLURM_JOB_ID']) % PORTS}"
