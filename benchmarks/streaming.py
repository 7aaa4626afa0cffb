"""Memory of a training process on tens of millions of sentence pairs, and its start-up time.

    python benchmarks/streaming.py WORK [--pairs N ...] [--epoch N] [--loaders N] [--updates N]
        [--systems S ...] [--json FILE]
    python benchmarks/streaming.py WORK --text 1000000 [--updates N] [--json FILE]

WORK/N gets a synthetic data folder of N sentence pairs in three language pairs of unequal size (60,
30 and 10 %), with random tokens, 12 to a sentence on average; it is kept, and used again by the
next run. Each system is a `fairseq-train` of all six directions at temperature 5 with a tiny model,
in processes of its own:

    keyed    virtual epochs, --virtual-epoch-draw keyed
    lean     virtual epochs as fairseq draws them
    fairseq  the same with --data-loading fairseq

Memory is read from /proc twice a second, and the peak is kept. `private` is a process' own memory
(RssAnon), `proportional` its share of everything that it has mapped (Pss), which includes its share
of the system's cache of the data files. The cache is given back when memory is short, so `private`
is what a process needs. `loader` is the same of one data-loading process (--num-workers).

With `--text N`, WORK/text-N gets N lines of English and German of the embedded corpus, and the time
is that of `tdo train --from-text` from its start to its first update; nothing else is reported.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tdo_compat.binarised import HEADER, MAGIC
from tdo_plugin.data.embedded_corpus import draw
from tdo_plugin.data.grammar import linearize
from tdo_plugin.launch.training import PLUGIN
from tdo_plugin.runtime.files import replaced_folder

SHARES = {"en-de": 0.6, "en-fr": 0.3, "en-cs": 0.1}
WORDS = 8000
SHORTEST, LONGEST = 4, 20
BLOCK = 1_000_000  # sentences in memory at a time
PAUSE = 0.5  # seconds between two readings
LEAN = ("--task", "tdo_translation", "--data-loading", "lean")
SYSTEMS = {
    "keyed": (*LEAN, "--virtual-epoch-draw", "keyed"),
    "lean": LEAN,
    "fairseq": ("--task", "tdo_translation", "--data-loading", "fairseq"),
}
TRAINING = (
    *("--encoder-langtok", "tgt", "--sampling-method", "temperature"),
    *("--sampling-temperature", "5", "--max-tokens", "2000", "--optimizer", "adam"),
    *("--lr", "0.001", "--criterion", "label_smoothed_cross_entropy"),
    *("--arch", "tdo_transformer", "--tdo-layers", "2", "--tdo-target-layer", "1"),
    *("--tdo-model-dim", "32", "--tdo-heads", "2", "--tdo-ffn-dim", "32"),
)
DISTINCT = 20_000  # sentences of the text; larger texts repeat them
Figures = dict[str, float]


def make_data(folder: Path, pairs: int) -> None:
    """Write a data folder of random sentences, unless it is there."""
    mark = folder / "complete"
    if mark.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    for pair, share in SHARES.items():
        for language in pair.split("-"):
            words = "".join(f"w{number} 1\n" for number in range(WORDS))
            (folder / f"dict.{language}.txt").write_text(words, encoding="utf-8")
            _write_side(folder / f"train.{pair}.{language}", round(pairs * share), random)
    mark.touch()


def _write_side(prefix: Path, sentences: int, random: np.random.Generator) -> None:
    lengths = random.integers(SHORTEST, LONGEST + 1, sentences, dtype=np.int32)
    ends = np.cumsum(lengths, dtype=np.int64)
    with open(f"{prefix}.bin", "wb") as stream:
        for begin in range(0, sentences, BLOCK):
            block = lengths[begin : begin + BLOCK]
            tokens = random.integers(4, WORDS + 4, int(block.sum()), dtype=np.uint16)
            tokens[np.cumsum(block) - 1] = 2  # the end symbol
            stream.write(tokens.tobytes())
    with open(f"{prefix}.idx", "wb") as stream:
        stream.write(HEADER.pack(*MAGIC, 8, sentences))
        stream.write(lengths.tobytes())
        stream.write(((ends - lengths) * 2).tobytes())


def make_text(folder: Path, lines: int) -> None:
    """Write a text folder of one pair, unless it is there; sentences are repeated as needed."""
    if folder.exists():
        return
    meanings = list(itertools.islice(draw("train", seed=1), DISTINCT))
    with replaced_folder(folder) as made:
        for language in ("de", "en"):
            text = [linearize(meaning, language) for meaning in meanings]
            with (made / f"train.de-en.{language}").open("w", encoding="utf-8") as stream:
                for line in itertools.islice(itertools.cycle(text), lines):
                    stream.write(f"{line}\n")


def text_command(work: Path, text: Path, args: argparse.Namespace) -> list[str]:
    """`tdo train --from-text` of a tiny model in a new folder."""
    config = work / "tiny.conf"
    flags = " ".join(["--task tdo_translation", *TRAINING]).replace(" --", "\n--")
    config.write_text(f"{flags}\n", encoding="utf-8")
    return [
        *(sys.executable, "-m", "tdo_plugin", "train", str(config), str(text), "--from-text"),
        *("--save-dir", "trained", "--cpu", "--update-freq", "1", "--no-save"),
        *("--max-update", str(args.updates), "--log-interval", "1", "--log-format", "simple"),
    ]


def command(folder: Path, args: argparse.Namespace, flags: Sequence[str]) -> list[str]:
    """The training's command."""
    directions = [direction for pair in SHARES for direction in (pair, _reversed(pair))]
    return [
        *(sys.executable, "-m", "fairseq_cli.train", str(folder), "--user-dir", str(PLUGIN)),
        *("--langs", "en,de,fr,cs", "--lang-pairs", ",".join(directions)),
        *(*TRAINING, "--virtual-epoch-size", str(args.epoch)),
        *("--cpu", "--disable-validation", "--no-save"),
        *("--num-workers", str(args.loaders), "--max-update", str(args.updates)),
        *("--distributed-world-size", "1", "--log-interval", "1", "--log-format", "simple"),
        *flags,
    ]


def measure(words: Sequence[str]) -> Figures:
    """Run a training; its peaks in GiB, and the seconds until its first update."""
    begin = time.monotonic()
    peaks: Figures = {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=scratch
        ) as process,
    ):
        thread = threading.Thread(target=_watch, args=(process.pid, peaks))
        thread.start()
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            if "num_updates=1," in line:
                peaks["first update, s"] = time.monotonic() - begin
        code = process.wait()
        thread.join()
    if code:
        raise SystemExit("".join(lines[-20:]))
    return {name: round(peak, 3) for name, peak in sorted(peaks.items())}


def _watch(process: int, peaks: Figures) -> None:
    """Keep the peaks of a process and of its children until it ends."""
    while Path(f"/proc/{process}/exe").exists():
        named = [("", process), *(("loader ", child) for child in _children(process))]
        for name, number in named:
            for kind, size in _sizes(number):
                key = f"{name}{kind}, GiB"
                peaks[key] = max(peaks.get(key, 0), size)
        time.sleep(PAUSE)


def _children(process: int) -> list[int]:
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def _sizes(process: int) -> Iterator[tuple[str, float]]:
    try:
        status = Path(f"/proc/{process}/status").read_text()
        rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:  # it has ended
        return
    for kind, text, name in (
        ("private", status, "RssAnon"),
        ("mapped files", status, "RssFile"),
        ("proportional", rollup, "Pss"),
    ):
        if found := re.search(rf"^{name}:\s+(\d+)", text, re.M):
            yield kind, int(found[1]) / 2**20


def _reversed(pair: str) -> str:
    return "-".join(reversed(pair.split("-")))


def main() -> None:
    """Write the data, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--pairs", type=int, nargs="+", default=[5_000_000, 50_000_000])
    parser.add_argument("--epoch", type=int, default=1_000_000, help="size of a virtual epoch")
    parser.add_argument("--loaders", type=int, default=1, help="data-loading processes")
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--systems", nargs="+", default=["keyed"], choices=SYSTEMS)
    parser.add_argument("--text", type=int, metavar="N", help="train from N lines of text instead")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    work, report = args.work.resolve(), []
    if args.text:
        make_text(work / f"text-{args.text}", args.text)
        figures = measure(text_command(work, work / f"text-{args.text}", args))
        seconds = {"first update, s": figures["first update, s"]}
        print(f"{args.text:,} lines: {seconds}", flush=True)
        report.append({"lines": args.text, **seconds})
        args.pairs = []
    for pairs in args.pairs:
        make_data(work / str(pairs), pairs)
        for system in args.systems:
            figures = measure(command(work / str(pairs), args, SYSTEMS[system]))
            shown = ", ".join(f"{name} {figure:.2f}" for name, figure in figures.items())
            print(f"{pairs:>11,} pairs, {system}: {shown}", flush=True)
            report.append({"pairs": pairs, "system": system, **figures})
    if args.json:
        settings = {"machine": platform.processor() or platform.machine(), "cpus": os.cpu_count()}
        text = json.dumps({"settings": settings, "rows": report}, indent=1)
        args.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
