"""Building, training and decoding in a system's process, as in fairseq's commands.

An update is fairseq's `Trainer.train_step`, a translation the task's `inference_step` with the
task's generator.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import torch
from fairseq import options, tasks, utils
from fairseq.data.language_pair_dataset import collate
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer

from speed.batches import Batch, write_dictionary
from speed.jobs import Job
from speed.plan import CTRANSLATE2, CTRANSLATE2_INT8, INT8, Setting
from speed.roofline import Part, parts
from speed.systems import shared_words, words
from tdo_plugin.errors import UserError
from tdo_plugin.launch.environment import cores
from tdo_plugin.modules.int8_products import quantise_
from tdo_plugin.runtime.jobs import run_jobs
from tdo_plugin.tasks.language_ids import LanguageIdDataManager

TINY = Setting(model_dim=8, ffn_dim=8, heads=2, depth=2, vocabulary=50)
PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class Runner:
    """A system's model with batches, ready to run.

    Args:
        job: the job with the system to build.
        folder: a folder for the dictionary.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        write_dictionary(folder / "dict.txt", job.batches, job.setting.vocabulary)
        self.cfg = convert_namespace_to_omegaconf(_arguments(job, folder))
        utils.set_torch_seed(1)
        self.task = tasks.setup_task(self.cfg.task)
        self.model = self.task.build_model(self.cfg.model)
        self.job = job
        self.cuda = job.device == "cuda"
        self.samples = [self._sample(batch) for batch in job.batches]

    def _sample(self, batch: Batch) -> dict[str, Any]:
        """A batch as collated by the task's data sets, with the target's tag first."""
        dictionary, manager = self.task.source_dictionary, self.task.data_manager
        end = dictionary.eos()
        rows = []
        for number, sentence in enumerate(batch):
            tag = manager.get_encoder_langtok(*sentence.languages, "tgt")
            source = [tag, *map(dictionary.index, sentence.source), end]
            target = [*map(dictionary.index, sentence.target), end]
            tensors = {"source": torch.tensor(source), "target": torch.tensor(target)}
            rows.append({"id": number, **tensors})
        sample = collate(rows, dictionary.pad(), end)
        if isinstance(manager, LanguageIdDataManager):  # fairseq's tasks provide no language ids
            for side, name in enumerate(("src_lang_id", "tgt_lang_id")):
                ids = [manager.language_id(sentence.languages[side]) for sentence in batch]
                sample["net_input"][name] = torch.tensor(ids)[sample["id"], None]
        return utils.move_to_cuda(sample) if self.cuda else sample

    def run(self, number: int) -> float:
        """The seconds of the `number`-th run."""
        return self.job.timed(number, lambda index: self.step(self.samples[index]), self._wait)

    def size(self) -> int:
        """The bytes of the parameters, as a checkpoint for decoding stores them."""
        return sum(parameter.nbytes for parameter in self.model.parameters())

    def _wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def step(self, sample: dict[str, Any]) -> None:
        """Process one batch."""
        raise TypeError(f"{type(self).__name__} has no work; use a subclass")


class Training(Runner):
    """Updates."""

    def __init__(self, job: Job, folder: Path) -> None:
        super().__init__(job, folder)
        criterion = self.task.build_criterion(self.cfg.criterion)
        self.trainer = Trainer(self.cfg, self.task, self.model, criterion)
        self.trainer.begin_epoch(1)

    def step(self, sample: dict[str, Any]) -> None:
        self.trainer.train_step([sample], raise_oom=True)


class Decoding(Runner):
    """Translations, all of the setting's length, so that all systems do the same work."""

    def __init__(self, job: Job, folder: Path) -> None:
        super().__init__(job, folder)
        torch.set_num_threads(job.setting.threads or cores())
        self.model.to(job.device, PRECISIONS[job.precision]).eval()
        if job.system == INT8:
            quantise_(self.model.core)
        self.model.prepare_for_inference_(self.cfg)
        search = self.cfg.generation
        search.beam = job.setting.beam
        search.max_len_a = 0
        search.min_len = search.max_len_b = job.setting.sentence_length - 1  # plus the end symbol
        self.generator = self.task.build_generator([self.model], search)

    def step(self, sample: dict[str, Any]) -> None:
        with torch.inference_mode():  # as in `tdo translate`
            self.task.inference_step(self.generator, [self.model], sample)


RUNNERS = {
    "training": Training,
    "memory": Training,
    "decoding": Decoding,
    "decoding memory": Decoding,
    "model size": Runner,
}


def runner_of(job: Job, folder: Path) -> Any:
    """A system's model with batches, ready to run."""
    if job.system not in (CTRANSLATE2, CTRANSLATE2_INT8):
        return RUNNERS[job.kind](job, folder)
    from speed.ctranslate2_running import CTranslate2Decoding

    return CTranslate2Decoding(job, folder)


class Stand:
    """The requests that a process executes; see `processes`.

    Args:
        folder: a folder for dictionaries.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runner: Any = None

    def prepare(self, job: Job) -> None:
        """Build the job's model, replacing the previous model."""
        self._runner = None
        gc.collect()
        if job.device == "cuda":
            torch.cuda.empty_cache()
        self._runner = runner_of(job, self._folder)

    def run(self, number: int) -> float:
        """The seconds of the `number`-th run of the prepared job."""
        return float(self._runner.run(number))

    def roofline(self, job: Job) -> list[Part]:
        """Where a system's update spends its time."""
        self.prepare(job)
        return parts(job.system, self._runner.run, job.setting.vocabulary)

    def model_size(self, job: Job) -> float:
        """The bytes of a system's model in a file."""
        self.prepare(job)
        return float(self._runner.size())

    def peak_memory(self, job: Job) -> float:
        """Peak memory of training or decoding in bytes, including the model and the optimiser.

        The work runs in a new process. On a GPU, it is the memory of tensors; on a CPU, the
        growth of the process, which is only accurate if the process returns freed memory to the
        system immediately.
        """
        ((_, size),) = run_jobs([(job.system, lambda: self._grown_by(job))], 1)
        return float(size)

    def _grown_by(self, job: Job) -> int:
        self.prepare(replace(job, setting=replace(TINY, instrucl=job.setting.instrucl)))
        self.run(0)  # exclude memory of libraries that are loaded at first use
        peak = most_allocated if job.device == "cuda" else _most_grown
        with peak() as size:
            self.prepare(job)
            for number in range(len(job.batches)):
                self.run(number)
        return size()


@contextmanager
def most_allocated() -> Iterator[Callable[[], int]]:
    """The peak bytes of a GPU's tensors since the block began, including those from before.

    fairseq's trainer resets the peak after each update, to log free memory. What then remains is
    the model, its gradients and the optimizer's state, without any activations.
    """
    torch.cuda.reset_peak_memory_stats()
    with mock.patch("torch.cuda.reset_peak_memory_stats"):
        yield torch.cuda.max_memory_allocated


@contextmanager
def _most_grown() -> Iterator[Callable[[], int]]:
    """The growth in bytes of the process's peak memory since the block began."""
    before = _most_resident()
    yield lambda: _most_resident() - before


def _most_resident() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _arguments(job: Job, folder: Path) -> Any:
    line = [*shared_words(job.directions, folder), *words(job.system, job.setting), *job.extra]
    if job.device == "cpu":
        line.append("--cpu")
    elif job.precision != "fp32":
        line.append(f"--{job.precision}")
    parser = options.get_training_parser()
    parser.error = _refuse  # instead of printing the usage and exiting
    return options.parse_args_and_arch(parser, input_args=line)


def _refuse(message: str) -> NoReturn:
    raise UserError(f"`--options` must be options of fairseq-train; its error: {message}")
