"""What a system's process does: build, update, translate, as fairseq's own commands would.

An update is fairseq's `Trainer.train_step`, and a translation the task's `inference_step` with the
generator that the task builds.
"""

from __future__ import annotations

import gc
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import torch
from fairseq import options, tasks, utils
from fairseq.data.language_pair_dataset import collate
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer

from speed.batches import Batch, write_dictionary
from speed.jobs import Job
from speed.plan import Setting
from speed.systems import shared_words, words
from tdo_plugin.errors import UserError
from tdo_plugin.runtime.jobs import run_jobs
from tdo_plugin.tasks.language_ids import LanguageIdDataManager

TINY = Setting(model_dim=8, ffn_dim=8, heads=2, depth=2, vocabulary=50)
PRECISIONS = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class Runner:
    """A system's model with batches, ready to run.

    Args:
        job: what to build.
        folder: a place for the dictionary.
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
        """A batch as the task's data sets would collate it, the target's tag first."""
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
        if isinstance(manager, LanguageIdDataManager):  # fairseq's own tasks tell no model
            for side, name in enumerate(("src_lang_id", "tgt_lang_id")):
                ids = [manager.language_id(sentence.languages[side]) for sentence in batch]
                sample["net_input"][name] = torch.tensor(ids)[sample["id"], None]
        return utils.move_to_cuda(sample) if self.cuda else sample

    def run(self, number: int) -> float:
        """Seconds of the `number`-th run."""
        samples = [self.samples[index] for index in self.job.batches_of(number)]
        self._wait()
        begin = time.perf_counter()
        for sample in samples:
            self.step(sample)
        self._wait()
        return time.perf_counter() - begin

    def _wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def step(self, sample: dict[str, Any]) -> None:
        """The work on one batch."""
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
    """Translations. All hypotheses have the setting's length, so that no system has less to do."""

    def __init__(self, job: Job, folder: Path) -> None:
        super().__init__(job, folder)
        self.model.to(job.device, PRECISIONS[job.precision]).eval()
        self.model.prepare_for_inference_(self.cfg)
        search = self.cfg.generation
        search.beam = job.setting.beam
        search.max_len_a = 0
        search.min_len = search.max_len_b = job.setting.sentence_length - 1  # and the end
        self.generator = self.task.build_generator([self.model], search)

    def step(self, sample: dict[str, Any]) -> None:
        self.task.inference_step(self.generator, [self.model], sample)


RUNNERS = {"training": Training, "memory": Training, "decoding": Decoding}


class Stand:
    """What a process is asked to do; see `processes`.

    Args:
        folder: a place for dictionaries.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runner: Runner | None = None

    def prepare(self, job: Job) -> None:
        """Build the job's model, in place of the one before."""
        self._runner = None
        gc.collect()
        if job.device == "cuda":
            torch.cuda.empty_cache()
        self._runner = RUNNERS[job.kind](job, self._folder)

    def run(self, number: int) -> float:
        """Seconds of the `number`-th run of what is prepared."""
        assert self._runner is not None
        return self._runner.run(number)

    def peak_memory(self, job: Job) -> float:
        """Bytes that training has needed at most at one time, with parameters and optimiser.

        A process of its own trains, so that this one stays new. On a GPU it is what tensors took,
        on a CPU by how much the process grew; that is only then what was needed if the process
        gives back to the system at once what it frees.
        """
        ((_, size),) = run_jobs([(job.system, lambda: self._grown_by(job))], 1)
        return float(size)

    def _grown_by(self, job: Job) -> int:
        self.prepare(replace(job, setting=replace(TINY, instrucl=job.setting.instrucl)))
        self.run(0)  # what libraries load when they are first used is not the model's
        before = _most_resident()
        self.prepare(job)
        for number in range(len(job.batches)):
            self.run(number)
        if job.device == "cuda":
            return torch.cuda.max_memory_allocated()
        return _most_resident() - before


def _most_resident() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _arguments(job: Job, folder: Path) -> Any:
    line = [*shared_words(job.directions, folder), *words(job.system, job.setting), *job.extra]
    if job.device == "cpu":
        line.append("--cpu")
    elif job.precision != "fp32":
        line.append(f"--{job.precision}")
    parser = options.get_training_parser()
    parser.error = _refuse  # instead of the whole usage and an exit
    return options.parse_args_and_arch(parser, input_args=line)


def _refuse(message: str) -> NoReturn:
    raise UserError(f"`--options` must be options of fairseq-train; it says: {message}")
