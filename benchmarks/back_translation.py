"""Time of an update with back-translation relative to an update without.

    python benchmarks/back_translation.py [--size small|base] [--data FOLDER] [--rounds N]
        [--batch-tokens N] [--sentence-length N] [--vocabulary N] [--options WORDS]
        [--device cpu|cuda] [--precision fp32|fp16|bf16] [--json FILE]

The systems are interleaved on the same batches with the same model, in alternating order:

    plain        an update with `--task tdo_translation`
    robt         an update with `--task tdo_robt`, greedy
    source kept  the same with a search that recomputes the whole prefix at each step
    no cache     the same with a search that recomputes source and prefix at each step

An update is fairseq's `Trainer.train_step`, including the optimiser. So that the work does not
depend on the output of an untrained model, translations never end before their limit, which is the
length of the translated text, and none is dropped: every target gets a source of its length.

The table and the JSON file have each system's median seconds, and the ratio to the plain update of
the same round: median, minimum and maximum.
"""

from __future__ import annotations

import shlex
import tempfile
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from speed import interleaved
from speed.jobs import Job
from speed.plan import OURS, Setting
from speed.running import Training
from torch import Tensor

from tdo_plugin.models.greedy_search import greedy_search

SIZES = {
    "small": Setting(128, 512, 4, 6, 8000, batch_tokens=1000),
    "base": Setting(batch_tokens=1000),
}
PLAIN, ROBT, SOURCE_KEPT, NO_CACHE = "plain", "robt", "source kept", "no cache"
SYSTEMS = (PLAIN, ROBT, SOURCE_KEPT, NO_CACHE)
METRIC = "update with back-translation"
SEARCH = "tdo_plugin.tasks.robt.search"


class Updates(Training):
    """One model that makes the updates of every system."""

    def __init__(self, job: Job, folder: Path) -> None:
        super().__init__(job, folder)
        if self.task.args.robt_beam > 1 or self.task.args.whole_search:
            raise SystemExit("`--options` must leave the search greedy; they do not")
        self._hooks = list(self.task.step_hooks)

    def seconds(self, system: str, number: int) -> float:
        """Seconds of a system's update on the `number`-th batch."""
        self.task.step_hooks = [] if system == PLAIN else self._hooks
        with mock.patch(f"{SEARCH}.greedy_search", SEARCHES.get(system)):
            return self.run(number)


def to_the_limit(
    model: Any, net_input: dict[str, Tensor], begin: Tensor, limits: Sequence[int]
) -> list[list[int]]:
    """The task's search, without an end before the limit."""
    return greedy_search(model, net_input, begin, limits, least=max(limits))


@torch.no_grad()
def without_cache(
    model: Any,
    net_input: dict[str, Tensor],
    begin: Tensor,
    limits: Sequence[int],
    source_kept: bool,
) -> list[list[int]]:
    """The same tokens computed from the whole prefix at each step, up to the longest limit."""
    dictionary, tokens = model.decoder.dictionary, begin
    source = model.encoder(**net_input)
    for step in range(max(limits)):
        if step and not source_kept:
            source = model.encoder(**net_input)
        features, _ = model.decoder(tokens, source, features_only=True)
        logits = model.decoder.output_layer(features[:, -1])
        logits[:, [dictionary.pad(), dictionary.eos()]] = float("-inf")
        tokens = torch.cat([tokens, logits.argmax(1)[:, None]], 1)
    words = tokens[:, begin.size(1) :].tolist()
    return [row[:limit] for row, limit in zip(words, limits, strict=True)]


SEARCHES = {
    ROBT: to_the_limit,
    SOURCE_KEPT: partial(without_cache, source_kept=True),
    NO_CACHE: partial(without_cache, source_kept=False),
}


def measure(
    args: Namespace, case: interleaved.Case, say: Callable[[str], None]
) -> interleaved.Seconds:
    """Each system's seconds per round."""
    job = case.job(OURS, "--task", "tdo_robt", *shlex.split(case.options))
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch(f"{SEARCH}.runs_in_circles", lambda words: False),
    ):
        updates = Updates(job, Path(folder))
        ways = {system: partial(updates.seconds, system) for system in SYSTEMS}
        return interleaved.turns(ways, args.rounds, say)


def main() -> None:
    """Measure, print, write."""
    interleaved.run(__doc__, SIZES, METRIC, measure)


if __name__ == "__main__":
    main()
