"""Sentences per second and peak memory of `tdo prepare`, beside its steps by the tools themselves.

    python benchmarks/prepare_corpus.py WORK [--pairs N] [--workers N] [--json FILE]

The corpus is generated from the embedded grammar, N pairs of English and German, some of them twice
and some with an empty side. Two ways take it from text to a data folder:

    prepare   `tdo prepare --from`, its processes as many as --workers
    tools     one after the other, as one does it by hand: paste and awk take out empty and repeated
              rows, SentencePiece trains and cuts, fairseq-preprocess binarises with --workers

Memory is the greatest sum over all processes of a way, pages that several share being counted once
(proportional set size, Linux only).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.launch.environment import cores

LANGUAGES = ("en", "de")
PAIR = "en-de"
BEAT = 0.2  # seconds between two looks at the memory
REPEATED, EMPTY = 50, 1000  # every so manieth row comes again, has an empty side

TRAIN = """
import sys, sentencepiece
text, prefix, size, threads = sys.argv[1:]
sentencepiece.SentencePieceTrainer.train(
    input=text, model_prefix=prefix, vocab_size=int(size), character_coverage=1.0,
    input_sentence_size=SENTENCES, shuffle_input_sentence=True, hard_vocab_limit=False,
    num_threads=int(threads), minloglevel=2)
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
    """Seconds and the most memory, in MiB."""

    seconds: float
    memory: float


def generate(folder: Path, pairs: int) -> None:
    """Write the corpus unless it is there."""
    if (folder / "whole").is_file():
        return
    made = folder.parent / "generated"
    command = [sys.executable, "-m", "tdo_plugin", "corpus", "--out", str(made), "--force"]
    command += ["--languages", ",".join(LANGUAGES), "--train", str(pairs)]
    subprocess.run(command, check=True)
    folder.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        for split in ("valid",):
            name = f"{split}.{PAIR}.{language}"
            (folder / name).write_bytes((made / name).read_bytes())
        (folder / f"test.{language}").write_bytes((made / f"test.{language}").read_bytes())
        source, target = made / f"train.{PAIR}.{language}", folder / f"train.{PAIR}.{language}"
        with source.open("rb") as lines, target.open("wb") as stream:
            for number, line in enumerate(lines):
                stream.write(b"\n" if number % EMPTY == 1 and language == "de" else line)
                if number % REPEATED == 0:
                    stream.write(line)
    (folder / "whole").touch()


def prepare(text: Path, out: Path, args: argparse.Namespace) -> None:
    """One command."""
    command = [
        sys.executable,
        "-m",
        "tdo_plugin",
        "prepare",
        "--from",
        str(text),
        "--out",
        str(out),
    ]
    command += ["--workers", str(args.workers), "--vocab-size", str(args.vocab_size)]
    command += ["--sentences", str(args.sentences), "--fresh"]
    subprocess.run(command, check=True)


def by_tools(text: Path, out: Path, args: argparse.Namespace) -> None:
    """The same, step by step."""
    out.mkdir(parents=True, exist_ok=True)
    first, second = LANGUAGES
    run(
        f"paste {text}/train.{PAIR}.{first} {text}/train.{PAIR}.{second}"
        " | awk -F'\\t' '$1 != \"\" && $2 != \"\" && !seen[$0]++'"
        f" | tee >(cut -f1 > {out}/train.{first}) | cut -f2 > {out}/train.{second}"
    )
    for split, name in (("valid", f"valid.{PAIR}"), ("test", "test")):
        for language in LANGUAGES:
            run(f"cp {text}/{name}.{language} {out}/{split}.{language}")
    run(f"cat {out}/train.{first} {out}/train.{second} > {out}/all")
    script = TRAIN.replace("SENTENCES", str(args.sentences))
    words = [sys.executable, "-c", script, f"{out}/all", f"{out}/spm"]
    subprocess.run([*words, str(args.vocab_size), str(args.workers)], check=True)
    for split in ("train", "valid", "test"):
        for language in LANGUAGES:
            cut = [sys.executable, "-c", CUT, f"{out}/spm.model"]
            source, target = out / f"{split}.{language}", out / f"{split}.pieces.{language}"
            with source.open() as lines, target.open("w") as pieces:
                subprocess.run(cut, stdin=lines, stdout=pieces, check=True)
    binary = Path(sys.executable).parent / "fairseq-preprocess"
    splits = [f"--{split}pref {out}/{split}.pieces" for split in ("train", "valid", "test")]
    run(
        f"{binary} -s {first} -t {second} {' '.join(splits)} --srcdict {out}/spm.dict"
        f" --tgtdict {out}/spm.dict --destdir {out}/data --workers {args.workers} > /dev/null"
    )


def run(line: str) -> None:
    """A line of shell."""
    subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=True)


def tree(root: int) -> Iterator[int]:
    """A process and all below it."""
    yield root
    for path in Path(f"/proc/{root}/task").glob("*/children"):
        for child in path.read_text().split():
            yield from tree(int(child))


def memory(root: int) -> float:
    """Of the processes below `root`, in MiB."""
    total = 0
    for process in list(tree(root))[1:]:
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:  # it has just ended
            continue
        total += sum(int(line.split()[1]) for line in rollup.split("\n") if line.startswith("Pss:"))
    return total / 1024


def measure(way: object, *given: object) -> Measured:
    """Run a way while its memory is watched."""
    most, done = 0.0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(BEAT):
            try:
                most = max(most, memory(os.getpid()))
            except OSError:  # a process ended while it was looked at
                continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.monotonic()
    try:
        way(*given)  # type: ignore[operator]
    finally:
        seconds = time.monotonic() - begin
        done.set()
        watcher.join()
    return Measured(seconds, most)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--pairs", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--vocab-size", type=int, default=8000)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    text = args.work.resolve() / "text"
    generate(text, args.pairs)
    rows = {}
    for name, way in (("prepare", prepare), ("tools", by_tools)):
        found = measure(way, text, args.work.resolve() / name, args)
        rows[name] = {
            "seconds": found.seconds,
            "pairs_per_second": args.pairs / found.seconds,
            "peak_mib": found.memory,
        }
        print(
            f"{name:>8}: {found.seconds:8.1f} s, {args.pairs / found.seconds:9,.0f} pairs/s, "
            f"peak {found.memory:7,.0f} MiB",
            flush=True,
        )
    if args.json:
        settings = {key: value for key, value in vars(args).items() if not isinstance(value, Path)}
        machine = platform.processor() or platform.machine()
        report = {**settings, "machine": machine, "cores": cores(), "ways": rows}
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
