"""The runs of a grid, several at a time: each is trained, then translates."""

from __future__ import annotations

import queue
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.grid.folder import NOT_BEGUN, TRAINED, OtherTraining, RunFolder
from tdo_plugin.launch.environment import visible_gpu
from tdo_plugin.runtime.commands import Commands
from tdo_plugin.runtime.lock import FolderInUse, alone
from tdo_plugin.runtime.signals import GOES_ON, ended_by_signal

TDO = (sys.executable, "-m", "tdo_plugin")
EVERY = 30.0  # seconds between lines about what is under way
LOGGED = re.compile(r"train_inner.*?\bloss\W+([\d.]+).*?\bnum_updates\W+(\d+)")
MOST = re.compile(r"--max-update[ =](\d+)")
END = 1 << 16  # bytes of a log in which the last update stands

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How runs are made.

    Attributes:
        data: the data folder.
        behind: flags of `fairseq-train` behind a config's own.
        slots: for each run under way at a time, the GPUs that it has; none is the CPU.
        threads: CPU threads of each; None leaves it to the environment.
        fresh: whether what was trained otherwise is removed and trained anew.
    """

    data: Path
    behind: tuple[str, ...]
    slots: tuple[tuple[int, ...], ...]
    threads: int | None = None
    fresh: bool = False

    def train(self, folder: RunFolder, gpus: int) -> list[str]:
        """The words of `tdo` that train."""
        words = ["train", str(folder.path / "cell.conf"), str(self.data)]
        words += ["--save-dir", str(folder.path / "checkpoints")]
        return [*words, *_machine(gpus), *self.behind]

    def translate(self, folder: RunFolder, gpus: int) -> list[str]:
        """The words of `tdo` that translate the test sets."""
        words = ["translate", str(self.data), "--path", str(folder.path / "checkpoints")]
        words += ["--out", str(folder.output), "--workers", str(max(1, gpus)), *_machine(gpus)]
        options = folder.translation
        assert options is not None
        return [*words, "--pairs", options["directions"], *options["options"]]

    def commands(self, folder: RunFolder, gpus: int) -> list[list[str]]:
        """What makes a run, each the words of `tdo`."""
        train = self.train(folder, gpus)
        return [train] if folder.translation is None else [train, self.translate(folder, gpus)]

    def environment(self, slot: Sequence[int]) -> dict[str, str]:
        """Variables of the processes of a slot."""
        variables = {} if self.threads is None else {"OMP_NUM_THREADS": str(self.threads)}
        if slot:
            variables["CUDA_VISIBLE_DEVICES"] = ",".join(map(visible_gpu, slot))
        return variables


def _machine(gpus: int) -> list[str]:
    return ["--gpus", str(gpus)] if gpus else ["--cpu"]


def deal(workers: int, gpus: int, each: int) -> tuple[tuple[int, ...], ...]:
    """The GPUs of each worker, `each` of them, dealt out in turn; none without GPUs."""
    if not gpus:
        return ((),) * workers
    return tuple(
        tuple((worker * each + number) % gpus for number in range(each))
        for worker in range(workers)
    )


def check(folders: Sequence[RunFolder], fresh: bool) -> None:
    """Raise UserError where a folder is not one to go on with, or, if `fresh`, to train anew in."""
    for folder in folders:
        try:
            folder.state()
        except OtherTraining:
            if not fresh:
                raise


def run_all(folders: Sequence[RunFolder], plan: Plan, say: Say) -> dict[str, str]:
    """Train and translate what is not done yet.

    Args:
        folders: the runs, taken in this order.
        plan: how.
        say: told what begins and ends, and now and then how far it is.

    Returns:
        By name of those that are not done, why not. They do not keep others from being done.
    """
    commands, troubles = Commands(), {}
    free: queue.SimpleQueue[tuple[int, ...]] = queue.SimpleQueue()
    for slot in plan.slots:
        free.put(slot)
    busy: dict[str, RunFolder] = {}

    def work(folder: RunFolder) -> None:
        slot = free.get()
        busy[folder.run.name] = folder
        try:
            _make(folder, plan, slot, commands, say)
        finally:
            del busy[folder.run.name]
            free.put(slot)

    with ended_by_signal(hint=GOES_ON), ThreadPoolExecutor(len(plan.slots)) as pool:
        waiting = {pool.submit(work, folder): folder.run.name for folder in folders}
        try:
            for name, error in _ended(waiting, lambda: say(_progress(list(busy.values())))):
                if error is not None:
                    troubles[name] = str(error)
                    say(f"{name}: {error}")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            commands.stop()
            raise
    return troubles


def _ended(
    waiting: dict[Future[None], str], meanwhile: Callable[[], None]
) -> Iterator[tuple[str, UserError | None]]:
    """Each name as it ends, with the mistake that ended it."""
    left = set(waiting)
    while left:
        done, left = wait(left, EVERY, FIRST_COMPLETED)
        if not done:
            meanwhile()
        for future in done:
            error = future.exception()
            if error is not None and not isinstance(error, UserError):
                raise error
            yield waiting[future], error


def _make(folder: RunFolder, plan: Plan, slot: Sequence[int], commands: Commands, say: Say) -> None:
    """Train and translate one run, as far as that is not done.

    Raises:
        UserError: another run does that, or it failed.
        Stopped: there was no time for it.
    """
    name = folder.run.name

    def tdo(words: Sequence[str], log: Path, what: str) -> None:
        code = commands.run([*TDO, *words], log, plan.environment(slot), lock)
        if code:
            raise UserError(f"{what} ended with {code}: {last_line(log)} (all of it: {log})")

    try:
        with alone(folder.path) as lock:
            state = _state(folder, plan.fresh)
            if state == folder.final:
                say(f"{name} is done already")
                return
            if state != TRAINED:
                say(f"{name}: training {'begins' if state == NOT_BEGUN else 'goes on'}")
                folder.begin()
                tdo(plan.train(folder, len(slot)), folder.train_log, "training")
            folder.trained()
            if folder.translation is None:
                say(f"{name}: {_last_update(folder) or 'trained'}, done")
                return
            say(f"{name}: {_last_update(folder) or 'trained'}, translating")
            anew = ["--fresh"] if folder.begin_translation() else []
            tdo([*plan.translate(folder, len(slot)), *anew], folder.translate_log, "translating")
            folder.translated()
            say(f"{name}: done")
    except FolderInUse:
        raise UserError(f"another run is making it in {folder.path}") from None


def _state(folder: RunFolder, fresh: bool) -> str:
    try:
        return folder.state()
    except OtherTraining:
        if not fresh:
            raise
        folder.empty()
        return NOT_BEGUN


def _progress(folders: Sequence[RunFolder]) -> str:
    return " | ".join(f"{folder.run.name}: {_last_update(folder) or 'begun'}" for folder in folders)


def _last_update(folder: RunFolder) -> str:
    """`update 300 of 600, loss 4.21`, from the end of its training's log."""
    logged = LOGGED.findall(_end(folder.train_log))
    if not logged:
        return ""
    loss, update = logged[-1]
    words = shlex.join([*folder.run.config.words(), *(folder.training["behind"] or ())])
    most = MOST.findall(words)
    return f"update {update}{f' of {most[-1]}' if most else ''}, loss {loss}"


def last_line(log: Path) -> str:
    """The last line of a log that says anything."""
    lines = [line.strip() for line in _end(log).splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"


def _end(log: Path) -> str:
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - END))
            return stream.read().decode("utf-8", "replace")
    except OSError:
        return ""
