"""Sentences per second and peak memory of `tdo prepare`, compared with the same steps by tools.

    python benchmarks/prepare_corpus.py WORK [--pairs N] [--workers N] [--json FILE]

The corpus is generated from the embedded grammar: N different pairs of English and German
sentences, some of which are repeated and some get an empty side. Two ways make a data folder:

    prepare   `tdo prepare --from`, with --workers processes
    tools     the steps one by one, as by hand: paste, grep and awk remove empty, unreadable,
              held-out and repeated rows, SentencePiece trains on the same sentences and segments
              with all cores, fairseq-preprocess binarises with --workers

If the model is trained on a sample of the text, both ways use this project's sampling, since
SentencePiece would sample different sentences each time. Both ways must produce the same bytes, or
there is no result. Memory is the maximum over time of the sum over all processes of a way, sampled
several times per second. Pages shared by processes count once (proportional set size, Linux only);
the system's file cache does not count.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import psutil

from tdo_plugin.data.joint_model import THREADS
from tdo_plugin.data.sampling import most_sentences, sample
from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.launch.environment import cores
from tdo_plugin.runtime.files import write_text
from tdo_plugin.runtime.memory import MIB, tree_memory

LANGUAGES = ("en", "de")
PAIR = "en-de"
SPLITS = ("train", "valid", "test")
BEAT = 0.2  # seconds between memory samples
REPEATED, EMPTY = 50, 1000  # every 50th row is repeated, every 1000th has an empty side

# {0} and {1} are the folders of the text and of the result
CLEAN = r"""
paste {0}/valid.en-de.en {0}/valid.en-de.de > {1}/held-out
paste {0}/test.en {0}/test.de >> {1}/held-out
paste {0}/train.en-de.en {0}/train.en-de.de |
LC_ALL=C.UTF-8 grep -aPv '[\x{{FFFD}}\p{{Cn}}\p{{Co}}]|(?!\t)\p{{Cc}}' |
LC_ALL=C awk -F'\t' 'NR == FNR {{ held[$0]; next }}
    $1 != "" && $2 != "" && !($0 in held) && !seen[$0]++ {{
        print $1 > "{1}/train.en"; print $2 > "{1}/train.de" }}' {1}/held-out -
cp {0}/valid.en-de.en {1}/valid.en; cp {0}/valid.en-de.de {1}/valid.de
cp {0}/test.en {0}/test.de {1}
cat {1}/train.en {1}/train.de > {1}/all
"""
TRAIN = """
import sys, sentencepiece
text, prefix, size, threads = sys.argv[1:]
sentencepiece.SentencePieceTrainer.train(
    input=text, model_prefix=prefix, vocab_size=int(size), character_coverage=1.0,
    hard_vocab_limit=False, num_threads=int(threads), minloglevel=2)
model = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
with open(prefix + ".dict", "w", encoding="utf-8") as stream:
    for number in range(3, model.get_piece_size()):
        stream.write(model.id_to_piece(number) + " 1\\n")
"""
CUT = """
import sys, itertools, sentencepiece
model = sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])
while chunk := list(itertools.islice(sys.stdin, 20000)):
    for pieces in model.encode([line.rstrip("\\n") for line in chunk], out_type=str):
        print(" ".join(pieces))
"""


@dataclass(frozen=True)
class Measured:
    """Seconds, generated pairs per second, and peak memory in MiB."""

    seconds: float
    pairs_per_second: float
    peak_mib: float


def generate(work: Path, pairs: int) -> Path:
    """Write the corpus unless it exists; returns its folder."""
    folder = work / f"text-{pairs}"
    if folder.is_dir():
        return folder
    generated = work / "generated"
    command = [sys.executable, "-m", "tdo_plugin", "corpus", "--out", str(generated), "--fresh"]
    command += ["--langs", ",".join(LANGUAGES), "--train", str(pairs)]
    subprocess.run(command, check=True)
    for language in LANGUAGES:
        source = generated / f"train.{PAIR}.{language}"
        unfinished = source.with_suffix(".partial")
        with source.open("rb") as lines, unfinished.open("wb") as stream:
            for number, line in enumerate(lines):
                stream.write(b"\n" if number % EMPTY == 1 and language == "de" else line)
                if number % REPEATED == 0:
                    stream.write(line)
        unfinished.replace(source)
    generated.rename(folder)
    return folder


def prepare(text: Path, out: Path, args: argparse.Namespace) -> None:
    """Run `tdo prepare`."""
    command = [sys.executable, "-m", "tdo_plugin", "prepare", "--from", str(text)]
    command += ["--out", str(out), "--workers", str(args.workers)]
    command += ["--vocab-size", str(args.vocab_size), "--sentences", str(args.sentences)]
    subprocess.run(command, check=True)


def by_tools(text: Path, out: Path, args: argparse.Namespace) -> None:
    """Run the same steps by tools; `out` is also the data folder."""
    out.mkdir()
    run(CLEAN.format(text, out))
    sides = [out / f"train.{language}" for language in LANGUAGES]
    if sentences := args.sentences or most_sentences(sides):
        write_text(out / "all", sample(sides, read_lines, sentences, temperature=1, seed=1))
    words = [sys.executable, "-c", TRAIN, f"{out}/all", f"{out}/spm", str(args.vocab_size)]
    subprocess.run([*words, str(THREADS)], check=True)
    for split in SPLITS:
        for language in LANGUAGES:
            cut = [sys.executable, "-c", CUT, f"{out}/spm.model"]
            source, target = out / f"{split}.{language}", out / f"{split}.pieces.{language}"
            with source.open() as lines, target.open("w") as pieces:
                subprocess.run(cut, stdin=lines, stdout=pieces, check=True)
    binary = Path(sys.executable).parent / "fairseq-preprocess"
    splits = [f"--{split}pref {out}/{split}.pieces" for split in SPLITS]
    first, second = LANGUAGES
    run(
        f"{binary} -s {first} -t {second} {' '.join(splits)} --srcdict {out}/spm.dict"
        f" --tgtdict {out}/spm.dict --destdir {out} --workers {args.workers} > /dev/null"
    )


def run(lines: str) -> None:
    """Run lines of shell, none of which may fail."""
    subprocess.run(["bash", "-euo", "pipefail", "-c", lines], check=True)


def differing(first: Path, second: Path) -> list[str]:
    """Names of binarised files that differ between two folders."""
    sides = [f"{split}.{PAIR}.{language}" for split in SPLITS for language in LANGUAGES]
    names = [f"{side}.{suffix}" for side in sides for suffix in ("bin", "idx")]
    return [name for name in names if not filecmp.cmp(first / name, second / name, shallow=False)]


def memory() -> float:
    """Memory of the descendants of this process, in MiB."""
    return sum(tree_memory(child.pid) for child in psutil.Process().children()) / MIB


def measure(way: Callable[[], None], pairs: int) -> Measured:
    """Run a way while sampling its memory."""
    most, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(BEAT):
            most = max(most, memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.monotonic()
    try:
        way()
    finally:
        seconds = time.monotonic() - begin
        done.set()
        watcher.join()
    return Measured(seconds, pairs / seconds, most)


def main() -> None:
    """Measure, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--pairs", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument(
        "--sentences",
        type=int,
        default=0,
        help="sentences for the model (default 0: as in tdo prepare)",
    )
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    work = args.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    text = generate(work, args.pairs)
    measurements = {}
    for name, way in (("prepare", prepare), ("tools", by_tools)):
        shutil.rmtree(work / name, ignore_errors=True)
        measurements[name] = measure(partial(way, text, work / name, args), args.pairs)
        measured = measurements[name]
        print(
            f"{name:>8}: {measured.seconds:8.1f} s, {measured.pairs_per_second:9,.0f} pairs/s, "
            f"peak {measured.peak_mib:7,.0f} MiB",
            flush=True,
        )
    if names := differing(work / "prepare", work / "tools"):
        sys.exit(f"the two ways made different files: {', '.join(names)}")
    if args.json:
        settings = {key: value for key, value in vars(args).items() if not isinstance(value, Path)}
        machine = platform.processor() or platform.machine()
        ways = {name: asdict(measured) for name, measured in measurements.items()}
        report = {**settings, "machine": machine, "cores": cores(), "ways": ways}
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
