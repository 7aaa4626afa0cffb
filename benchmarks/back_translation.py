"""Time of an update with back-translation over one without.

    python benchmarks/back_translation.py [--size small|base] [--data FOLDER] [--rounds N]
        [--batch-tokens N] [--sentence-length N] [--vocabulary N] [--options WORDS]
        [--device cpu|cuda] [--precision fp32|fp16|bf16] [--json FILE]

The systems take turns on the same batches with the same model, each round in another order:

    plain        the update of `--task tdo_translation`
    robt         that of `--task tdo_robt`, greedy
    source kept  the same with a search that reads the whole prefix again at each step
    no cache     the same with a search that reads source and prefix again at each step

An update is fairseq's `Trainer.train_step`, with the optimiser. So that the work does not depend on
what an untrained model happens to say, no translation ends before its limit, which is the length of
what is translated, and none is dropped: every target gets a source as long as itself.

The table and the JSON file have each system's median seconds, and its time over that of the plain
update of the same round: median, least and most.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from speed import hardware
from speed.batches import Batch, by_tokens, target_tokens
from speed.jobs import Job
from speed.plan import OURS, Setting
from speed.running import Training
from speed.text import Text, embedded, own
from torch import Tensor

from tdo_plugin.launch.environment import settings as environment
from tdo_plugin.models.greedy_search import greedy_search

SIZES = {
    "small": Setting(128, 512, 4, 6, 8000, batch_tokens=1000),
    "base": Setting(batch_tokens=1000),
}
PLAIN, ROBT, SOURCE_KEPT, NO_CACHE = "plain", "robt", "source kept", "no cache"
SYSTEMS = (PLAIN, ROBT, SOURCE_KEPT, NO_CACHE)
SEARCH = "tdo_plugin.tasks.robt.search"


class Updates(Training):
    """One model, whose updates are those of any system."""

    def __init__(self, job: Job, folder: Path) -> None:
        super().__init__(job, folder)
        if self.task.args.robt_beam > 1 or self.task.args.whole_search:
            raise SystemExit("`--options` must leave the search greedy; they do not")
        self._hooks = list(self.task.step_hooks)

    def _sample(self, batch: Batch) -> dict[str, Any]:
        sample = super()._sample(batch)
        origins = sample["id"].tolist()
        for side, name in enumerate(("src_lang_id", "tgt_lang_id")):
            ids = [self.task.data_manager.language_id(one.languages[side]) for one in batch]
            column = torch.tensor([[ids[origin]] for origin in origins])
            sample["net_input"][name] = column.to(sample["id"].device)
        return sample

    def seconds(self, system: str, number: int) -> float:
        """Of a system's update on the `number`-th batch."""
        self.task.step_hooks = [] if system == PLAIN else self._hooks
        with mock.patch(f"{SEARCH}.greedy_search", SEARCHES.get(system)):
            return self.run(number)


def to_the_limit(
    model: Any, net_input: dict[str, Tensor], begin: Tensor, limits: Sequence[int]
) -> list[list[int]]:
    """The task's own search, with no end before the limit."""
    return greedy_search(model, net_input, begin, limits, least=max(limits))


@torch.no_grad()
def without_cache(
    model: Any,
    net_input: dict[str, Tensor],
    begin: Tensor,
    limits: Sequence[int],
    source_kept: bool,
) -> list[list[int]]:
    """The same words by passes over the whole prefix, to the longest limit of all."""
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


def measure(job: Job, rounds: int, say: Callable[[str], None]) -> dict[str, list[float]]:
    """Each system's seconds, round by round, after a round that does not count."""
    found: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch(f"{SEARCH}.runs_in_circles", lambda words: False),
    ):
        updates = Updates(job, Path(folder))
        for number in range(rounds + 1):
            for system in SYSTEMS[:: (-1) ** number]:
                seconds = updates.seconds(system, number)
                say(f"round {number}, {system}: {seconds:.2f} s")
                if number:
                    found[system].append(seconds)
    return found


def rows(found: dict[str, list[float]], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """A row for each system but the plain one: its time over the plain update's."""
    result = []
    for system, own_seconds in found.items():
        if system == PLAIN:
            continue
        pairs = zip(own_seconds, found[PLAIN], strict=True)
        ratios = [mine / plain for mine, plain in pairs]
        figures = {
            "unit": "seconds of an update",
            "cost": statistics.median(own_seconds),
            "baseline_cost": statistics.median(found[PLAIN]),
            "rounds": len(ratios),
        }
        result.append(
            {
                "system": system,
                "baseline": PLAIN,
                "metric": "update with back-translation",
                "ratio": statistics.median(ratios),
                "spread": [min(ratios), max(ratios)],
                "settings": {**settings, **figures},
            }
        )
    return result


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    (least, most), cost = row["spread"], row["settings"]["cost"]
    return (
        f"{row['system']:<12} {cost:8.3f} s an update, {row['ratio']:.2f} times a plain one "
        f"({least:.2f} to {most:.2f})"
    )


def _arguments() -> Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", choices=list(SIZES), default="base")
    parser.add_argument("--data", type=Path, help="a text or data folder (the embedded corpus)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--batch-tokens", type=int, metavar="N")
    parser.add_argument("--sentence-length", type=int, metavar="N")
    parser.add_argument("--vocabulary", type=int, metavar="N")
    parser.add_argument("--options", default="", help="further options of fairseq-train")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument("--precision", choices=["fp32", "fp16", "bf16"])
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    """Measure, print, write."""
    args = _arguments()
    wanted = environment(int(args.device == "cuda"))
    if any(name not in os.environ for name in wanted):  # the C library reads them as it starts
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
    device = hardware.device(None if args.device == "auto" else args.device)
    precision = hardware.precision(device, args.precision)
    given = {
        name: value
        for name in ("batch_tokens", "sentence_length", "vocabulary")
        if (value := getattr(args, name)) is not None
    }
    setting = replace(SIZES[args.size], **given)
    text: Text = own(args.data) if args.data else embedded(setting.languages)
    batches = by_tokens(text, setting.sentence_length, setting.batch_tokens)
    job = Job(
        *("training", OURS, setting, text.directions, batches, device, precision),
        extra=("--task", "tdo_robt", *shlex.split(args.options)),
    )
    begin = time.monotonic()
    found = measure(job, args.rounds, lambda one: print(one, file=sys.stderr))
    facts = {
        **{
            name: value
            for name, value in vars(setting).items()
            if name not in ("beam", "sentences")
        },
        **hardware.facts(device, precision),
        "text": text.name,
        "options": args.options,
        "sentences": [len(batch) for batch in batches],
        "target_tokens": [target_tokens(batch) for batch in batches],
        "minutes": round((time.monotonic() - begin) / 60, 1),
    }
    report = rows(found, facts)
    print(f"plain        {statistics.median(found[PLAIN]):8.3f} s an update")
    print(*map(line, report), sep="\n")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
