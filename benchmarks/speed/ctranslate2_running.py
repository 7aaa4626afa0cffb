"""Decoding with CTranslate2 in a system's process, with the weights of our encoder-decoder."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import ctranslate2

from speed.ctranslate2_model import write_model
from speed.jobs import Job
from speed.plan import CTRANSLATE2_INT8, ENCODER_DECODER
from speed.running import Runner
from tdo_plugin.launch.environment import cores

Tokens = list[list[str]]  # of each sentence of a batch


class CTranslate2Decoding:
    """Translations by CTranslate2, of as many steps as those of :class:`.running.Decoding`.

    Args:
        job: the job with the number format to use.
        folder: a folder for the dictionary and the model.
    """

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        quantization = "int8" if job.system == CTRANSLATE2_INT8 else None
        self.folder = folder / f"{quantization or 'float32'}-{job.setting.vocabulary}"
        # in a process of its own, whose memory is not decoding's; a forked one could wait for ever
        # for threads of this process
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            conversion = process.submit(_converted, job, folder, self.folder, quantization)
            self._batches = conversion.result()
        threads = job.setting.threads or cores()
        self.translator = ctranslate2.Translator(
            str(self.folder),
            device="cpu",
            compute_type=quantization or "float32",
            intra_threads=threads,
        )

    def step(self, number: int) -> list[Tokens]:
        """The hypotheses for a batch, without an end symbol.

        Ours end with it, after one step less.
        """
        setting = self.job.setting
        results = self.translator.translate_batch(
            self._batches[number],
            beam_size=setting.beam,
            num_hypotheses=setting.beam,
            min_decoding_length=setting.sentence_length,
            max_decoding_length=setting.sentence_length,
            max_batch_size=0,
        )
        return [result.hypotheses for result in results]

    def run(self, number: int) -> float:
        """The seconds of the `number`-th run."""
        return self.job.timed(number, self.step)

    def size(self) -> int:
        """The bytes of the model's file."""
        return (self.folder / "model.bin").stat().st_size


def _converted(job: Job, folder: Path, model: Path, quantization: str | None) -> list[Tokens]:
    """The symbols of the batches' sources, after writing the model if it is missing."""
    runner = Runner(replace(job, system=ENCODER_DECODER), folder)
    dictionary = runner.task.source_dictionary
    if not model.exists():
        write_model(runner.model.core, dictionary.symbols, model, quantization)
    return [
        [_symbols(dictionary.symbols, row) for row in sample["net_input"]["src_tokens"].tolist()]
        for sample in runner.samples
    ]


def _symbols(symbols: Sequence[str], row: Sequence[int]) -> list[str]:
    return [symbols[token] for token in row if symbols[token] != "<pad>"]
