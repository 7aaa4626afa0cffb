"""Translates and scores a sample of each direction in every validation."""

from __future__ import annotations

import json
import logging
import time
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from fairseq.distributed import utils as distributed
from fairseq.logging import metrics
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask

from tdo_plugin.metrics.textform import read_text_form
from tdo_plugin.tasks.preserve_training_state import preserve_training_state
from tdo_plugin.tasks.step_hooks import whole_weights
from tdo_plugin.tasks.validation.directions import choose_directions, data_of, with_own_values
from tdo_plugin.tasks.validation.sets import ValidationSet, validation_set
from tdo_plugin.tasks.validation.validation_options import (
    check_best_metric,
    check_validation_options,
    eval_subset,
)
from tdo_plugin.tasks.validation.validation_scores import Scorer, Scores, choose_identifier, to_log

FILE = "validation.jsonl"
EXAMPLES = 3  # sentences per direction in the file

logger = logging.getLogger(__name__)


def validation_of(task: TranslationMultiSimpleEpochTask, model: Any) -> Validation | None:
    """The validation for `--eval-translation`, or None if it is off.

    Raises:
        UserError: it is not possible, or `--best-checkpoint-metric` is a score that it does not
            compute.
    """
    if task.args.eval_translation is None:
        check_best_metric(task.args, ())
        return None
    check_validation_options(task.args)
    with preserve_training_state(model):
        validation = Validation(task, model)
    check_best_metric(task.args, validation.keys)
    return validation


class Validation:
    """The samples of all directions, and the scores of the latest validation.

    Each worker translates a share of the batches, whose composition does not depend on the number
    of workers. Each direction is then scored by one worker, and all receive all scores.

    Attributes:
        keys: names of the logged values.
    """

    def __init__(self, task: TranslationMultiSimpleEpochTask, model: Any) -> None:
        args = task.args
        directions = choose_directions(task, args.eval_translation, eval_subset(args))
        self._sets = [validation_set(task, direction, model) for direction in directions]
        self._groups = {sample.direction: sample.group for sample in self._sets}
        references: dict[str, list[str]] = {}
        for sample in self._sets:
            references.setdefault(sample.target, []).extend(sample.references.values())
        data = data_of(task)
        self._scorer = Scorer(
            choose_identifier(args.eval_lid, data, references),
            lowercase=read_text_form(data).casing == "lowercased",
        )
        self._own = with_own_values(args, directions)
        names = {sample.direction: self._scorer.names(sample.target) for sample in self._sets}
        defined = {direction: dict.fromkeys(names[direction], 0.0) for direction in names}
        self.keys = tuple(to_log(defined, self._groups, self._own))
        self._search = Namespace(
            beam=args.eval_beam, max_len_a=args.eval_max_len_a, max_len_b=args.eval_max_len_b
        )
        self._file = Path(args.save_dir) / FILE
        self._texts: dict[str, dict[int, str]] = {}
        self._scores: dict[str, Scores] = {}
        self._written = True

    def run(self, model: Any) -> None:
        """Translate and score; the model and all random states stay unchanged."""
        start = time.perf_counter()
        world = distributed.get_data_parallel_world_size()
        rank = distributed.get_data_parallel_rank() if world > 1 else 0
        with whole_weights(model), preserve_training_state(model):
            model.eval()
            self._texts = self._translate(model, rank, world)
            scored = {sample.direction: self._score(sample) for sample in self._sets[rank::world]}
        scores = {key: value for part in _gathered(scored, world) for key, value in part.items()}
        self._scores = {direction: scores[direction] for direction in self._groups}
        self._written = False
        logger.info(
            f"translated {sum(map(len, self._texts.values()))} validation sentences of "
            f"{len(self._sets)} directions in {time.perf_counter() - start:.1f} seconds"
        )

    def log(self) -> None:
        """Pass the latest scores to fairseq's meters."""
        for key, value in to_log(self._scores, self._groups, self._own).items():
            # with weight 0 a meter shows the latest value instead of a mean over batches
            metrics.log_scalar(key, value, weight=0, priority=300, round=2)

    def write(self, update: int) -> None:
        """Append each direction's line to the file, in the first process, once per validation.

        After resuming from an older checkpoint an update may occur twice; the later line counts.
        """
        if self._written or distributed.get_global_rank() != 0:
            return
        self._written = True
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8", newline="\n") as stream:
            for sample in self._sets:
                line = {"update": update, **self._summary(sample)}
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _summary(self, sample: ValidationSet) -> dict[str, Any]:
        texts = self._texts[sample.direction]
        examples = [
            {"source": sample.sources[n], "hypothesis": texts[n], "reference": sample.references[n]}
            for n in sorted(texts)[:EXAMPLES]
        ]
        return {
            "direction": sample.direction,
            "group": sample.group,
            "subset": sample.split,
            "sentences": len(texts),
            **{name: round(value, 2) for name, value in self._scores[sample.direction].items()},
            "examples": examples,
        }

    def _translate(self, model: Any, rank: int, world: int) -> dict[str, dict[int, str]]:
        """Hypotheses of all workers, by direction and sentence number."""
        batches = [(sample.direction, batch) for sample in self._sets for batch in sample.batches]
        mine: dict[str, list[list[int]]] = {}
        for direction, batch in batches[rank::world]:
            mine.setdefault(direction, []).append(batch)
        worker_texts = {
            sample.direction: sample.translate(model, self._search, mine[sample.direction])
            for sample in self._sets
            if sample.direction in mine
        }
        texts: dict[str, dict[int, str]] = {direction: {} for direction in self._groups}
        for part in _gathered(worker_texts, world):
            for direction, hypotheses in part.items():
                texts[direction].update(hypotheses)
        return texts

    def _score(self, sample: ValidationSet) -> Scores:
        texts = self._texts[sample.direction]
        numbers = sorted(texts)
        hypotheses, references = ([side[n] for n in numbers] for side in (texts, sample.references))
        return self._scorer.score(sample.direction, hypotheses, references)


def _gathered(worker_part: Any, world: int) -> Iterable[Any]:
    """Every worker's object, in the order of the workers."""
    if world == 1:
        return [worker_part]
    everyone: list[Any] = [None] * world
    torch.distributed.all_gather_object(
        everyone, worker_part, group=distributed.get_data_parallel_group()
    )
    return everyone
