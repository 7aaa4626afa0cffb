"""The `fairseq-generate` command of one direction, and a pool that runs one a direction."""

from __future__ import annotations

import itertools
import os
import queue
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.launch.environment import visible_gpu
from tdo_plugin.launch.training import PLUGIN
from tdo_plugin.launch.training_config import Config
from tdo_plugin.runtime.commands import Commands

# what generation must know of the task that trained the model, where that is fairseq's own; ours
# takes it from the checkpoint
TASK_FLAGS = (
    "--task",
    "--encoder-langtok",
    "--decoder-langtok",
    "--lang-tok-style",
    "--lang-tok-replacing-bos-eos",
    "--source-noise",  # its symbol is in the dictionary
    "--back-translated-tag",
)


LENGTHS = ("max_source_positions", "max_target_positions")
MAX_POSITIONS = 1024  # fairseq's default for a task


@dataclass(frozen=True)
class Decoding:
    """How to decode: the checkpoint, where results go, and the machine."""

    checkpoint: Path
    out: Path
    beam: int = 4
    batch_size: int = 100
    gpus: int = 0
    precision: str = "fp32"
    extra: tuple[str, ...] = ()


def generate_words(
    config: Config, data: DataFolder, decoding: Decoding, direction: str
) -> list[str]:
    """The stock command for one direction; it writes into OUT/DIRECTION.partial."""
    source, target = direction.split("-")
    words = ["fairseq-generate", str(data.root), "--user-dir", str(PLUGIN)]
    for flag in TASK_FLAGS:
        if flag in config.flags:
            words += [flag, *config.flags[flag]]
    learned = config.flags.get("--tdo-position-embedding") == ["learned"]
    if "--max-source-positions" in config.flags and not learned:
        # a limit that spares memory in training; sinusoidal positions have none in decoding
        words += ["--model-overrides", str(dict.fromkeys(LENGTHS, MAX_POSITIONS))]
    words += ["--langs", ",".join(data.languages), "--lang-pairs", ",".join(data.directions)]
    words += ["--source-lang", source, "--target-lang", target]
    words += ["--path", str(decoding.checkpoint), "--gen-subset", "test"]
    words += ["--beam", str(decoding.beam), "--batch-size", str(decoding.batch_size)]
    words += ["--results-path", str(decoding.out / f"{direction}.partial")]
    if not decoding.gpus:
        words.append("--cpu")
    elif decoding.precision != "fp32":
        words.append(f"--{decoding.precision}")
    return [*words, *decoding.extra]


def is_whole(decoding: Decoding, direction: str, words: Sequence[str]) -> bool:
    """Whether this command has run on this very checkpoint already."""
    note = decoding.out / direction / "command.txt"
    return note.is_file() and note.read_text(encoding="utf-8") == _note(decoding, words)


def _note(decoding: Decoding, words: Sequence[str]) -> str:
    stat = decoding.checkpoint.stat()
    return f"{shlex.join(words)}\n# checkpoint: {stat.st_size} bytes, time {stat.st_mtime_ns}\n"


def generate_all(
    commands: dict[str, list[str]],
    decoding: Decoding,
    jobs: int,
    variables: dict[str, str],
    done: Callable[[str], None],
) -> None:
    """Run one command a direction, `jobs` at a time, each with these environment variables.

    Jobs share the GPUs in turn. Results get their name only when a command has ended well.

    Raises:
        UserError: a command failed; its last line is in the message.
    """
    decoding.out.mkdir(parents=True, exist_ok=True)
    devices: queue.SimpleQueue[int] = queue.SimpleQueue()
    for device in itertools.islice(itertools.cycle(range(max(1, decoding.gpus))), jobs):
        devices.put(device)
    programs = Commands()

    def work(direction: str) -> str:
        device = devices.get()
        try:
            _generate(direction, commands[direction], decoding, variables, device, programs)
        finally:
            devices.put(device)
        return direction

    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, direction) for direction in commands]
        try:
            for future in as_completed(futures):
                done(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            programs.stop()
            raise


def _generate(
    direction: str,
    words: list[str],
    decoding: Decoding,
    variables: dict[str, str],
    device: int,
    programs: Commands,
) -> None:
    partial, final = decoding.out / f"{direction}.partial", decoding.out / direction
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    gpu_variables = {"CUDA_VISIBLE_DEVICES": visible_gpu(device)} if decoding.gpus else {}
    log = partial / "log.txt"
    code = programs.run(program(words), log, {**variables, **gpu_variables})
    if code:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "no message")
        raise UserError(
            f"`fairseq-generate` must succeed for {direction}; it ended with {code}: "
            f"{last.strip()} (all of it: {log})"
        )
    (partial / "command.txt").write_text(_note(decoding, words), encoding="utf-8")
    shutil.rmtree(final, ignore_errors=True)
    os.replace(partial, final)


def program(words: Sequence[str]) -> list[str]:
    """The command with every program of this Python's environment in its full path.

    `torchrun` must be given the path too, because it runs `fairseq-train` as a Python file.

    Raises:
        UserError: a program is not installed beside this Python.
    """
    folder = Path(sys.executable).parent
    result = list(words)
    for index, word in enumerate(words):
        if word in ("fairseq-train", "fairseq-generate", "torchrun"):
            path = folder / word
            if not path.is_file():
                raise UserError(f"`{word}` must be installed in {folder}; it is not (tdo doctor)")
            result[index] = str(path)
    return result
