"""The peak memory of a training's processes, run as a user runs it.

Ours has the environment and the flags of `tdo train`, stock those of a plain fairseq-train: its
allocator, and the processes that load its batches, in training and in validation. Both train on the
same data folder, and validate several times without reading the validation set to its end. Stock,
too, has the patches of `tdo_compat`, without which each validation leaves a process behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, groupby
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from speed.batches import write_dictionary
from speed.jobs import Job
from speed.plan import STOCK
from speed.systems import shared_words, words
from speed.worker_pool import environment
from tdo_plugin.data.binarization import binarise, load
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.launch.programs import program
from tdo_plugin.launch.training import Machine, train_words
from tdo_plugin.launch.training_config import Config
from tdo_plugin.runtime.commands import Commands
from tdo_plugin.runtime.files import write_text
from tdo_plugin.runtime.jobs import run_jobs
from tdo_plugin.runtime.log_ends import last_line
from tdo_plugin.runtime.memory import PeakMemory

SAMPLE = 0.1  # seconds between two looks; an update of a small model takes less than one
LENGTH = (
    *("--max-update", "12", "--validate-interval-updates", "4", "--max-valid-steps", "20"),
    *("--update-freq", "1", "--no-save"),
)


def peak_memory(jobs: Mapping[str, Job]) -> dict[str, int]:
    """Bytes by system: the most that the processes of its training held at a time.

    Args:
        jobs: by system, with the same batches, whose sentences are the data.

    Raises:
        UserError: a training fails.
    """
    with TemporaryDirectory(prefix="tdo-bench-") as name:
        folder, any_job = Path(name), next(iter(jobs.values()))
        # in a process of its own, as this one would share fairseq's pages with the trainings
        list(run_jobs([("data", lambda: _write_data(any_job, folder))], 1))
        return {system: _peak(job, folder) for system, job in jobs.items()}


def _write_data(job: Job, folder: Path) -> None:
    """A set for each direction, to train on and to validate with."""
    load()
    dictionary = folder / "dict.txt"
    write_dictionary(dictionary, job.batches, job.setting.vocabulary)
    languages = attrgetter("languages")
    sentences = sorted((each for batch in job.batches for each in batch), key=languages)
    for direction, group in groupby(sentences, languages):
        prefix = folder / f"text.{'-'.join(direction)}"
        sides = zip(*((each.source, each.target) for each in group), strict=True)
        for language, side in zip(direction, sides, strict=True):
            write_text(prefix.with_name(f"{prefix.name}.{language}"), map(" ".join, side))
        for split in ("train", "valid"):
            binarise(split, direction, prefix, dictionary, folder)


def _peak(job: Job, folder: Path) -> int:
    log, peak, commands = folder / "log", PeakMemory(SAMPLE), Commands()
    line, variables = program(_command(job, folder)), environment(job.system, 0)
    with commands.threads(1) as pool:
        code = pool.submit(commands.run, line, log, variables, peak=peak).result()
    if code:
        raise UserError(f"`fairseq-train` must succeed; it says: {last_line(log)}")
    return peak.bytes


def _command(job: Job, folder: Path) -> list[str]:
    directions = tuple(dict.fromkeys(each.languages for batch in job.batches for each in batch))
    data, *shared = shared_words(directions, folder)
    flags = [*shared, *words(job.system, job.setting), *LENGTH]
    flags += ["--max-tokens", str(job.setting.batch_tokens), *job.extra]
    if job.system == STOCK:
        return ["fairseq-train", data, *flags, "--cpu", "--distributed-world-size", "1"]
    languages = tuple(dict.fromkeys(chain.from_iterable(directions)))
    prepared = DataFolder(folder, languages, tuple(map("-".join, directions)), ())
    line, _ = train_words(Config(), prepared, folder, Machine(), job.precision, flags)
    return line
