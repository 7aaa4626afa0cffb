"""Time from the start of `fairseq-train` to its first update, with hundreds of directions.

    python benchmarks/start_up.py [--languages N] [--sentences N ...] [--rounds N] [--cold]
        [--virtual-epoch-size N] [--json FILE]

Systems are interleaved: tiny models on the same data, with the same options:

    stock    task translation_multi_simple_epoch, arch transformer
    fairseq  task tdo_translation, arch tdo_transformer, --data-loading fairseq
    lean     the same with --data-loading lean

The data are sentences of the embedded corpus, which has seven languages; further languages are
copies under other names, and a pair's sentences are repeated as needed. `--cold` drops the files
from the system's cache before each run, as after a reboot. Steps are read from the log: `imports`
ends with fairseq's first line, `task` when the training set starts to load, `data` with the first
epoch, `update` with the first update; `cpu` is the CPU time until then, which is more reliable than
wall time on a busy machine.

With `--virtual-epoch-size`, the start of epochs is also measured, in a separate process that does
not train: `first` is loading and the first epoch's batches, `next` the batches of an epoch within a
pass, `pass` those of an epoch that begins a pass, `memory` the process' peak memory. A fourth
system, `keyed`, adds `--virtual-epoch-draw keyed`.

The table and the JSON file have each system's median, and the ratio of the stock system's number to
it in the same round: median, minimum and maximum.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import multiprocessing
import os
import platform
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from tdo_plugin.data.embedded_corpus import draw
from tdo_plugin.data.grammar import LANGUAGES, linearize
from tdo_plugin.launch.training import PLUGIN

DISTINCT = 1000  # generated sentences; larger sets repeat them
VALID = 100
COMMON = (
    *("--encoder-langtok", "tgt", "--sampling-method", "temperature", "--max-tokens", "500"),
    *("--optimizer", "adam", "--lr", "0.001", "--criterion", "label_smoothed_cross_entropy"),
    *("--cpu", "--no-save", "--disable-validation", "--max-update", "1"),
    *("--log-interval", "1", "--log-format", "simple", "--distributed-world-size", "1"),
)
TDO = (
    *("--task", "tdo_translation", "--arch", "tdo_transformer", "--user-dir", str(PLUGIN)),
    *("--tdo-layers", "4", "--tdo-target-layer", "2", "--tdo-model-dim", "64"),
    *("--tdo-heads", "2", "--tdo-ffn-dim", "64"),
)
SYSTEMS = {
    "stock": (
        *("--task", "translation_multi_simple_epoch"),
        *("--arch", "transformer_tiny", "--share-all-embeddings"),
    ),
    "fairseq": (*TDO, "--data-loading", "fairseq"),
    "lean": (*TDO, "--data-loading", "lean"),
}
VIRTUAL = {**SYSTEMS, "keyed": (*TDO, "--virtual-epoch-draw", "keyed")}
STEPS = {
    "imports": "fairseq_cli.train | {",
    "task": "loading data for train",
    "data": "Start iterating over samples",
    "update": "num_updates=1,",
}
Figures = dict[str, float]


def names(count: int) -> list[str]:
    """Names of languages: the embedded corpus', then copies of them."""
    copies = (f"{name}{copy}" for copy in itertools.count(2) for name in LANGUAGES)
    return list(itertools.islice(itertools.chain(LANGUAGES, copies), count))


def make_data(folder: Path, languages: Sequence[str], sentences: int, vocabulary: int) -> None:
    """Write a fairseq data folder with a training and a validation set for each pair.

    All sets of a language are equal, but in separate files, as in practice.
    """
    from fairseq.data import Dictionary
    from fairseq.data.indexed_dataset import MMapIndexedDatasetBuilder

    meanings = list(itertools.islice(draw("train", seed=1), DISTINCT))
    text = {name: [linearize(meaning, name) for meaning in meanings] for name in LANGUAGES}
    dictionary = Dictionary()
    encoded = {
        name: [dictionary.encode_line(line, append_eos=True) for line in lines]
        for name, lines in text.items()
    }
    for number in range(vocabulary - len(dictionary)):
        dictionary.add_symbol(f"filler{number}")
    for language in languages:
        dictionary.save(str(folder / f"dict.{language}.txt"))
    for split, size in (("train", sentences), ("valid", VALID)):
        for name, lines in encoded.items():
            builder = MMapIndexedDatasetBuilder(folder / f"{split}.{name}.bin", dtype=np.uint16)
            for line in itertools.islice(itertools.cycle(lines), size):
                builder.add_item(line)
            builder.finalize(folder / f"{split}.{name}.idx")
        for pair in itertools.combinations(languages, 2):
            for language, kind in itertools.product(pair, ("bin", "idx")):
                model = folder / f"{split}.{language.rstrip('0123456789')}.{kind}"
                shutil.copyfile(model, folder / f"{split}.{'-'.join(pair)}.{language}.{kind}")


def forget(folder: Path) -> None:
    """Drop these files from the system's cache."""
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def steps(words: Sequence[str]) -> Figures:
    """Run fairseq-train up to its first update; returns seconds from start to end of each step."""
    begin, used, reached, lines = time.monotonic(), children_seconds(), {}, []
    process = subprocess.Popen(
        [sys.executable, "-m", "fairseq_cli.train", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # to end the loader's processes as well
    )
    for line in process.stdout:
        lines.append(line)
        for step, mark in STEPS.items():
            if mark in line:
                reached.setdefault(step, time.monotonic() - begin)
        if "update" in reached:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if "update" not in reached:
        raise SystemExit("".join(lines[-20:]))
    return {**reached, "cpu": children_seconds() - used}


def children_seconds() -> float:
    """The CPU time of ended child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def epochs(words: Sequence[str]) -> Figures:
    """Load the training set, and make the batches of four epochs and of one that begins a pass."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_epochs, words).result()


def _epochs(words: Sequence[str]) -> Figures:
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    logging.disable(logging.INFO)
    args = options.parse_args_and_arch(options.get_training_parser(), list(words))
    task = tasks.setup_task(convert_namespace_to_omegaconf(args).task)
    seconds = [time.monotonic()]
    task.load_dataset("train", epoch=1, combine=True)
    data = task.dataset("train")
    for epoch in (1, 2, 3, 4, data.num_virtual_epochs + 1):
        iterator = task.get_batch_iterator(
            data, int(args.max_tokens), None, (1024, 1024), seed=1, epoch=epoch
        )
        assert iterator.first_batch
        seconds.append(time.monotonic())
    taken = np.diff(seconds)
    status = Path("/proc/self/status").read_text()
    return {
        "first": taken[0],
        "next": statistics.median(taken[1:4]),
        "pass": taken[4],
        "memory": int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 2**20,
    }


def measure(
    run: Callable[[Sequence[str]], Figures],
    systems: Mapping[str, Sequence[str]],
    words: Sequence[str],
    rounds: int,
    before: Callable[[], object],
) -> dict[str, list[Figures]]:
    """Each system's numbers per round; every other round is in reverse order."""
    measured: dict[str, list[Figures]] = {system: [] for system in systems}
    for number in range(rounds):
        for system in list(systems)[:: (-1) ** number]:
            before()
            figures = run([*words, *systems[system]])
            shown = ", ".join(f"{name} {figure:.2f}" for name, figure in figures.items())
            print(f"round {number + 1}, {system}: {shown}", flush=True)
            measured[system].append(figures)
    return measured


def rows(measured: Mapping[str, Sequence[Figures]], unit: str) -> list[dict[str, object]]:
    """A row for each system and number: its median, and the ratio of stock to it by round."""
    result = []
    for system, system_figures in measured.items():
        for name in system_figures[0]:
            pairs = zip(measured["stock"], system_figures, strict=True)
            ratios = [stock[name] / mine[name] for stock, mine in pairs]
            result.append(
                {
                    "system": system,
                    "baseline": "stock",
                    "metric": f"{name}, {'GiB' if name == 'memory' else unit}",
                    "median": statistics.median(figures[name] for figures in system_figures),
                    "ratio": statistics.median(ratios),
                    "spread": [min(ratios), max(ratios)],
                }
            )
    return result


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--languages", type=int, default=15, metavar="N")
    parser.add_argument("--sentences", type=int, nargs="+", default=[1000, 20000], metavar="N")
    parser.add_argument("--vocabulary", type=int, default=50000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument(
        "--cold", action="store_true", help="drop the files from the cache before each run"
    )
    parser.add_argument("--virtual-epoch-size", type=int, metavar="N")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    languages, report = names(args.languages), []
    pairs = ",".join("-".join(pair) for pair in itertools.permutations(languages, 2))
    for sentences in args.sentences:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_data(folder, languages, sentences, args.vocabulary)
            words = [name, "--langs", ",".join(languages), "--lang-pairs", pairs, *COMMON]
            before = partial(forget, folder) if args.cold else lambda: None
            measured = measure(steps, SYSTEMS, words, args.rounds, before)
            lines = rows(measured, "seconds from the start")
            if size := args.virtual_epoch_size:
                words += ["--virtual-epoch-size", str(size)]
                measured = measure(epochs, VIRTUAL, words, args.rounds, before)
                lines += rows(measured, "seconds")
        settings = {**vars(args), "sentences": sentences, "json": None}
        settings["machine"] = platform.processor() or platform.machine()
        report += [{**line, "settings": settings} for line in lines]
    for line in report:
        (low, high), count = line["spread"], line["settings"]["sentences"]
        print(
            f"{count:>8} per direction, {line['system']:>7}, {line['metric']:<31}"
            f"{line['median']:7.2f}, stock {line['ratio']:.2f} x ({low:.2f} to {high:.2f})"
        )
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
