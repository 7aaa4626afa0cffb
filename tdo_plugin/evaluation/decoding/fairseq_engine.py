"""The engine `fairseq`: run stock `fairseq-generate` for each direction, loading the model anew.

The program's output and log stay in OUT/fairseq/SOURCE-TARGET. A direction's files are made from
them, in the same form as the files of the workers in `pool.py`.
"""

from __future__ import annotations

import queue
import shutil
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from tdo_plugin import text_settings
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoded_checkpoints import describe
from tdo_plugin.evaluation.decoding.decoding_jobs import Job, sides_of, write_result
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.loading import check_languages, limits_of, state_of
from tdo_plugin.evaluation.decoding.pool import Event
from tdo_plugin.evaluation.decoding.worker import Work
from tdo_plugin.evaluation.outputs import (
    GENERATED,
    RAW,
    Hypothesis,
    joined,
    languages_of,
    read_scored,
)
from tdo_plugin.launch.environment import visible_gpu
from tdo_plugin.launch.programs import program
from tdo_plugin.launch.training import PLUGIN
from tdo_plugin.metrics.textform import read_text_form
from tdo_plugin.runtime.commands import Commands
from tdo_plugin.runtime.log_ends import last_line

NO_FLAGS = ("checkpoints", "penalty_form", "precision")  # options that are not single flags
NAMED = ("beam", "max_tokens")  # options with another default in fairseq
OTHER_NAMES = {"length_penalty": "lenpen", "unk_penalty": "unkpen"}
SWITCHES = ("decoder_langtok", "lang_tok_replacing_bos_eos")  # flags of a task without a value


@dataclass(frozen=True)
class FairseqWork(Work):
    """The input of a run's commands.

    Attributes:
        flags: further flags of fairseq-generate, appended to the others.
    """

    flags: tuple[str, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that determine hypotheses besides the options."""
        return {"engine": "fairseq", "flags": list(self.flags)}

    @cached_property
    def languages(self) -> list[str]:
        """The languages of the checkpoint."""
        return text_settings.languages_of(self._state)

    @cached_property
    def _state(self) -> dict[str, Any]:
        return state_of(self.options.checkpoints)

    def folder(self, direction: str) -> Path:
        """The folder that the command of a direction writes to."""
        return self.out / RAW / direction

    def command(self, direction: str, device: str) -> list[str]:
        """The stock command of a direction such as `de-fr`.

        Args:
            direction: the direction to translate.
            device: `cpu`, or any other value for the GPU that the process sees.

        Raises:
            UserError: the checkpoints are not of a multilingual task, or are incompatible.
        """
        source, target = languages_of(direction)
        return [
            *("fairseq-generate", str(self.data.root), "--user-dir", str(self.user_dir or PLUGIN)),
            *task_flags(self._state),
            # fairseq's task requires some pairs, although the model has its own
            *(f"--langs={','.join(self.languages)}", f"--lang-pairs={direction}"),
            *("--source-lang", source, "--target-lang", target, "--gen-subset", "test"),
            *("--path", ":".join(map(str, self.options.checkpoints))),
            *search_flags(self.options),
            *("--results-path", str(self.folder(direction))),
            *(["--cpu"] if device == "cpu" else []),
            *self.flags,
        ]


def task_flags(state: dict[str, Any]) -> list[str]:
    """The flags of the task that trained a checkpoint, and flags to decode any length.

    fairseq's task reads nothing from the checkpoint, while `tdo_translation` reads the same values
    there. A flag and its value are one word, so that no value from a file can act as a flag.
    """
    options = text_settings.task_options(state)
    words = [f"--task={getattr(options, '_name', None) or options.task}"]
    usual = text_settings.settings_of(Namespace())
    for name, value in text_settings.settings_of(options).items():
        flag = f"--{name.replace('_', '-')}"
        if value == usual[name]:
            continue
        words.append(flag if name in SWITCHES else f"{flag}={_text(value)}")
    limits = {
        name: limit
        for name, limit in limits_of(state).items()
        if getattr(options, name, limit) != limit
    }
    return [*words, "--model-overrides", str(limits)] if limits else words


def _text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def search_flags(options: DecodingOptions) -> list[str]:
    """The flags for search, batch size and number format.

    Raises:
        UserError: an option that fairseq-generate does not support.
    """
    if options.penalty_form != "length":
        raise UserError(
            "`--lenpen-form` must be length with --engine fairseq (a protocol may also set it); "
            f"it is {options.penalty_form}"
        )
    if options.precision == "int8":
        raise UserError(
            "`--precision` must be fp32, fp16 or bf16 with --engine fairseq; it is int8"
        )
    words = []
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name in NO_FLAGS or value is None:
            continue
        if value != field.default or field.name in NAMED:
            flag = f"--{OTHER_NAMES.get(field.name, field.name).replace('_', '-')}"
            words += [flag] if value is True else [flag, str(value)]
    if options.sampling:  # for sampling, fairseq requires nbest = beam
        words += ["--nbest", str(options.beam)]
    return words if options.precision == "fp32" else [*words, f"--{options.precision}"]


def generate_all(
    stages: Sequence[Sequence[Job]],
    work: FairseqWork,
    devices: Sequence[str],
    environment: dict[str, str],
    lock: int | None = None,
) -> Iterator[Event]:
    """Run a command for each job, one per device at a time, and yield events.

    Args:
        stages: lists of jobs; one list without a pivot.
        work: the input of the commands.
        devices: devices such as `cuda:0` or `cpu`.
        environment: environment variables for the commands.
        lock: file descriptor of the folder's lock, which the commands inherit.

    Raises:
        UserError: see `FairseqWork.command`.
    """
    jobs = [job for stage in stages for job in stage]
    commands = {job: work.command(job.direction, devices[0]) for job in jobs}
    descriptions = tuple(describe(path) for path in work.checkpoints)
    yield Event("ready", jobs[0], checkpoints=descriptions)
    free: queue.SimpleQueue[str] = queue.SimpleQueue()
    for device in devices:
        free.put(device)
    programs = Commands()

    def perform(job: Job) -> None:
        device = free.get()
        try:
            _generate(job, work, program(commands[job]), environment | _gpu(device), lock, programs)
        finally:
            free.put(device)

    with programs.threads(len(devices)) as pool:
        futures = {pool.submit(perform, job): job for job in jobs}
        for future in as_completed(futures):
            error = future.exception()
            if error is not None and not isinstance(error, UserError):
                raise error
            yield Event("failed" if error else "done", futures[future], text=str(error or ""))


def _gpu(device: str) -> dict[str, str]:
    """The variable that makes only its GPU visible to a process."""
    kind, _, number = device.partition(":")
    return {"CUDA_VISIBLE_DEVICES": visible_gpu(int(number))} if kind == "cuda" else {}


def _generate(
    job: Job,
    work: FairseqWork,
    words: list[str],
    environment: dict[str, str],
    lock: int | None,
    programs: Commands,
) -> None:
    """Translate one direction and write its files.

    Raises:
        UserError: the command failed; its last line is in the message.
    """
    check_languages(work.languages, job.direction)
    sides = sides_of(job, work.data)
    folder = work.folder(job.direction)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log, start = folder / "log.txt", time.monotonic()
    code = programs.run(words, log, environment, lock)
    if code:
        raise UserError(
            f"`fairseq-generate` must succeed; it ended with {code}: {last_line(log)} "
            f"(full log: {log})"
        )
    hypotheses = _hypotheses(job, work, folder / GENERATED)
    write_result(job, work.out, sides, hypotheses, time.monotonic() - start)


def _hypotheses(job: Job, work: FairseqWork, path: Path) -> list[Hypothesis]:
    scored = read_scored(path, job.sentences)
    lines = joined([pieces for _, pieces in scored])
    texts = read_text_form(work.data.root).plain(lines, languages_of(job.direction)[1])
    return [
        Hypothesis(pieces, text, score) for (score, pieces), text in zip(scored, texts, strict=True)
    ]
