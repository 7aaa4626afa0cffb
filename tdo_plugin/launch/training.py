"""The `fairseq-train` command of a config, for one or several GPUs or machines, or the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tdo_plugin.data.databin import DataFolder, matching
from tdo_plugin.errors import UserError
from tdo_plugin.launch.training_config import Config, positive

PLUGIN = Path(__file__).resolve().parent.parent
STOCK_TASK = "translation_multi_simple_epoch"


@dataclass(frozen=True)
class Machine:
    """The machines to train on.

    Attributes:
        gpus: GPUs per machine, with one process each; 0 for the CPU.
        nodes: number of machines.
        rendezvous: HOST:PORT of the first of several machines.
        processes: processes per machine on the CPU.
    """

    gpus: int = 0
    nodes: int = 1
    rendezvous: str | None = None
    processes: int = 1

    @property
    def each(self) -> int:
        """Processes per machine."""
        return self.gpus or self.processes

    @property
    def workers(self) -> int:
        """Processes in total."""
        return self.each * self.nodes

    def check(self) -> None:
        """Raise UserError for invalid or contradictory values."""
        if self.gpus < 0:
            raise UserError(f"`--gpus` must be at least 0; it is {self.gpus}")
        if self.nodes < 1:
            raise UserError(f"`--nodes` must be at least 1; it is {self.nodes}")
        if self.processes < 1:
            raise UserError(f"`--processes` must be at least 1; it is {self.processes}")
        if self.gpus and self.processes > 1:
            raise UserError(
                f"`--processes` must be left out with GPUs, which have one process each; it is "
                f"{self.processes} (--cpu disables GPUs)"
            )
        if self.nodes > 1 and not self.rendezvous:
            raise UserError(
                "`--rendezvous` must be HOST:PORT of the first machine with --nodes; it is missing"
            )


def batching(
    config: Config, machine: Machine, extra: Sequence[str]
) -> tuple[dict[str, list[str]], str]:
    """Flags with which an update has the config's total of tokens, and a note about it.

    The total is `gpus` x `--max-tokens` x `--update-freq` of the config. An `--update-freq` in
    `extra` is used as it is. If workers and batches do not divide the total, batches are halved
    until they do, as long as the longest sentence fits into a batch.

    Raises:
        UserError: the total does not divide evenly.
    """
    max_tokens = config.integer("--max-tokens", 4000)
    total = config.gpus * max_tokens * config.integer("--update-freq", 1)
    here = positive("--max-tokens", last_value(extra, "--max-tokens") or str(max_tokens))
    flags = {}
    given_too = last_value(extra, "--max-tokens") or last_value(extra, "--update-freq")
    if "--max-tokens" in config.flags and not given_too:
        here = _smaller(max_tokens, machine.workers, total, _longest(config, extra))
        flags["--max-tokens"] = [str(here)]
    share = machine.workers * here
    if update_freq := last_value(extra, "--update-freq"):
        freq = positive("--update-freq", update_freq)
        note = f"the config's total is {total}"
    elif total % here:
        raise UserError(
            f"`--max-tokens` must divide the config's {total} tokens per update, unless "
            f"--update-freq is given; it is {here}"
        )
    elif total % share:
        batches = total // here
        fitting = max(count for count in range(1, machine.workers) if batches % count == 0)
        raise UserError(
            f"`{'--gpus' if machine.gpus else '--processes'}` x `--nodes` must divide the config's "
            f"{total} tokens per update into batches of {here}; it is {machine.workers} "
            f"(use {fitting}, or give --update-freq)"
        )
    else:
        freq, note = total // share, "the config's total"
    where = f"{machine.workers} GPU(s)"
    if not machine.gpus:
        where = "the CPU" if machine.workers == 1 else f"{machine.workers} CPU processes"
    flags["--update-freq"] = [str(freq)]
    return flags, (
        f"{where} x {here} tokens x update-freq {freq} = {share * freq} tokens per update ({note})"
    )


def _longest(config: Config, extra: Sequence[str]) -> int:
    """The maximum length in tokens of a training sentence."""
    sides = ("--max-source-positions", "--max-target-positions")
    return max(
        positive(side, last_value(extra, side) or str(config.integer(side, 1024))) for side in sides
    )


def _smaller(batch: int, workers: int, total: int, longest: int) -> int:
    """The batch size, halved until workers divide the total; unchanged if that is impossible."""
    halved = batch
    while total % (workers * halved):
        if halved % 2 or halved // 2 < longest:
            return batch
        halved //= 2
    return halved


def trained_directions(config: Config, data: DataFolder) -> tuple[str, ...]:
    """The data folder's training directions that match the config's `directions`.

    Raises:
        UserError: no direction matches.
    """
    directions = matching(config.directions, data.directions)
    if not directions:
        raise UserError(
            f"`directions` must match some of {', '.join(data.directions)}; it is "
            f"{config.directions}"
        )
    return directions


def last_value(words: Sequence[str], flag: str) -> str | None:
    """The last value of a flag in a command, as `--flag V` or `--flag=V`."""
    value = None
    for index, word in enumerate(words):
        if word == flag and index + 1 < len(words):
            value = words[index + 1]
        elif word.startswith(f"{flag}="):
            value = word.partition("=")[2]
    return value


def train_words(
    config: Config,
    data: DataFolder,
    save_dir: Path,
    machine: Machine,
    precision: str,
    extra: Sequence[str] = (),
) -> tuple[list[str], str]:
    """The command that one machine runs, and a note about the batch size.

    Several processes are started by `torchrun`; for a single process, `--distributed-world-size`
    keeps fairseq from using all visible GPUs. CPU processes communicate by gloo, which fairseq's
    default model wrapper does not support.

    Raises:
        UserError: contradictory machine options; an update that does not divide evenly; no
            direction to train; a trained pair without a validation set that its task requires.
    """
    machine.check()
    options = [*config.words(), *extra]
    if last_value(options, "--task") is None:
        raise UserError("`--task` must be in the config or on the command line; it is missing")
    if last_value(options, "--arch") is None and last_value(options, "-a") is None:
        raise UserError("`--arch` must be in the config or on the command line; it is missing")
    _check_validation(config, data, extra)
    flags, note = batching(config, machine, extra)
    launcher = ["fairseq-train"]
    if machine.workers > 1:
        launcher = ["torchrun", *_torchrun(machine), "fairseq-train"]
    words = [*launcher, data.path, "--user-dir", str(PLUGIN)]
    directions = trained_directions(config, data)
    words += ["--langs", ",".join(data.languages), "--lang-pairs", ",".join(directions)]
    words += replace(config, flags={**config.flags, **flags}).words()
    words += ["--save-dir", str(save_dir)]
    if not data.validated:
        words.append("--disable-validation")
    if not machine.gpus:
        words.append("--cpu")
        if last_value(options, "--num-workers") is None:
            words += ["--num-workers", "0"]  # processes that load batches gain nothing on a CPU
    if machine.workers == 1:
        words += ["--distributed-world-size", "1"]
    elif not machine.gpus:
        words += ["--distributed-backend", "gloo"]
        if last_value(options, "--ddp-backend") != "fully_sharded":
            words += ["--ddp-backend", "legacy_ddp"]
    if precision == "bf16" or (machine.gpus and precision == "fp16"):  # fp16 is only for GPUs
        words.append(f"--{precision}")
    return [*words, *extra], note


def _check_validation(config: Config, data: DataFolder, extra: Sequence[str]) -> None:
    """Raise UserError for a trained pair without validation set, a KeyError in fairseq's task."""
    words = [*config.words(), *extra]
    trained = last_value(words, "--lang-pairs") or ",".join(trained_directions(config, data))
    lacking = [direction for direction in trained.split(",") if direction not in data.validated]
    if (
        lacking
        and last_value(words, "--task") == STOCK_TASK
        and not last_value(words, "--valid-subset")
    ):
        raise UserError(
            f"`DATA` must have a validation set for each trained pair with the task {STOCK_TASK}; "
            f"{lacking[0]} has none (the task tdo_translation does not require them)"
        )


def _torchrun(machine: Machine) -> list[str]:
    if machine.nodes == 1:
        return ["--standalone", "--nproc-per-node", str(machine.each)]
    return [
        *("--nnodes", str(machine.nodes), "--nproc-per-node", str(machine.each)),
        *("--rdzv-backend", "c10d", "--rdzv-id", "tdo", "--rdzv-endpoint", str(machine.rendezvous)),
    ]
