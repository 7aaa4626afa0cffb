"""Random online back-translation as a step hook (Zhang et al., 2020, Algorithm 1)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from fairseq.distributed import utils as distributed
from fairseq.logging import metrics

from tdo_plugin.tasks.preserve_training_state import preserve_training_state
from tdo_plugin.tasks.robt.direction_sampling import draw
from tdo_plugin.tasks.robt.reversed_pairs import Instance, Sides
from tdo_plugin.tasks.robt.robt_options import (
    check_robt_options,
    check_robt_targets,
    robt_languages,
)
from tdo_plugin.tasks.robt.search import translate
from tdo_plugin.tasks.step_hooks import Sample, key_of, unwrapped, whole_weights

MOST_LOGGED = 24  # maximum number of languages with log entries of their own


class BackTranslation:
    """Adds to a batch its back-translations.

    For each instance (x, y, t) a language t' is drawn, y is translated into t' by the current
    model, and (x', y, t) is trained on in addition to (x, y, t). The search has no gradient, and
    torch's random states are restored after it.

    Raises:
        UserError: as in :func:`check_robt_options`, :func:`robt_languages` and
            :func:`check_robt_targets`.
    """

    def __init__(self, task: Any) -> None:
        check_robt_options(task.args)
        names = robt_languages(task.args.robt_languages, task.langs)
        check_robt_targets(task.args, names, task.lang_pairs)
        self._task = task
        self._languages = {task.data_manager.language_id(name): name for name in names}
        self._sides = Sides(task)

    def batches(
        self, sample: Sample, model: Any, update: int
    ) -> tuple[list[Sample], dict[str, float]]:
        """The batch, and a back-translated batch if any translation is usable."""
        begin = time.perf_counter()
        instances = self._drawn(sample, update)
        translated: list[tuple[Instance, tuple[int, ...]]] = []
        whole = unwrapped(model)
        # models of other packages have no decoding layout
        packed = getattr(whole, "packed", nullcontext) if instances else nullcontext
        with whole_weights(whole), preserve_training_state(whole), packed():
            if instances:
                whole.eval()
                translated = translate(self._task, whole, self._sides, instances)
        logs: dict[str, float] = {f"robt_to_{name}": 0 for name in self._languages.values()}
        for instance in instances:
            logs[f"robt_to_{self._languages[instance.drawn]}"] += 1
        batches = [sample, self._sides.pseudo_batch(sample, translated)] if translated else [sample]
        logs["robt_drawn"], logs["robt_made"] = len(instances), len(translated)
        logs["robt_words"] = sum(len(words) for _, words in translated)
        logs["robt_seconds"] = time.perf_counter() - begin
        return batches, logs

    def _drawn(self, sample: Sample, update: int) -> list[Instance]:
        """The sentences to translate; none before the first update with back-translation."""
        args = self._task.args
        if update < args.robt_start_update:
            return []
        targets = sample["net_input"]["tgt_lang_id"].flatten().tolist()
        key = key_of(sample, args.seed, update)
        listed = args.robt_targets == "listed"
        drawn = draw(key, targets, list(self._languages), args.robt_share, listed)
        rows = zip(sample["target"].tolist(), targets, drawn, strict=True)
        return [
            Instance(row, self._sides.words(target), target_language, drawn_language)
            for row, (target, target_language, drawn_language) in enumerate(rows)
            if drawn_language is not None
        ]

    def log(self, logging_outputs: Sequence[dict[str, Any]]) -> None:
        """Log shares of the languages drawn, mean length, share dropped, seconds of an update.

        For more than ``MOST_LOGGED`` languages only the smallest and largest share are logged.
        """

        def total(key: str) -> float:
            return float(sum(log[key] for log in logging_outputs))

        def mean(entry: str, value: float, count: float, digits: int) -> None:
            # with an empty mean fairseq would write no value at all
            metrics.log_scalar(entry, value / count if count else 0.0, count, round=digits)

        workers = distributed.get_data_parallel_world_size()
        metrics.log_scalar("robt_seconds", total("robt_seconds") / workers, 1, round=3)
        drawn, translated = total("robt_drawn"), total("robt_made")
        mean("robt_dropped", drawn - translated, drawn, 3)
        mean("robt_length", total("robt_words"), translated, 1)
        few = len(self._languages) <= MOST_LOGGED
        entries = [f"{'' if few else '_'}robt_{name}" for name in self._languages.values()]
        for entry, name in zip(entries, self._languages.values(), strict=True):
            mean(entry, total(f"robt_to_{name}"), drawn, 3)
        if not few:
            for entry, choose in (("robt_least", min), ("robt_most", max)):
                metrics.log_derived(entry, partial(_chosen, choose, entries))


def _chosen(choose: Any, entries: Sequence[str], meters: Any) -> float:
    """The smallest or largest of some means; fairseq hides entries with a leading underscore."""
    return round(float(choose(meters[entry].avg for entry in entries)), 3)
