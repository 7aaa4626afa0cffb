"""Does the steps of a run that are not done, several at a time.

A step that fails keeps back those that need it, and no others; scores, reports and drawings of
several rows are made of those that are there, and made again when the others are. A run that is
ended at any point goes on where it was: each step has a record
(:mod:`~tdo_plugin.experiments.steps`), a training its checkpoints, and commands end with this
process, however that ends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.machine import Machine, Slot
from tdo_plugin.experiments.progress import STOCK, Progress, duration, last_line
from tdo_plugin.experiments.steps import SCRIPT, Command, Graph, Step, remove
from tdo_plugin.runtime.commands import Commands
from tdo_plugin.runtime.files import write_text
from tdo_plugin.runtime.lock import alone
from tdo_plugin.runtime.signals import GOES_ON, ended_by_signal

TDO = (sys.executable, "-m", "tdo_plugin")
CLONE = Path(__file__).resolve().parents[2]
EVERY = 30.0  # seconds between lines about what is under way
PARTLY = ("scores", "report")  # kinds whose commands end with 1 where something is missing
PATIENCE = 60.0  # seconds in which a training of a run that was killed writes its checkpoint

Say = Callable[[str], None]


class Runner:
    """Does steps.

    Args:
        graph: of which the steps are.
        machine: where they run.
        say: told what begins and ends, and now and then how far it is.
    """

    def __init__(self, graph: Graph, machine: Machine, say: Say) -> None:
        self._graph, self._machine, self._say = graph, machine, say
        self._commands = Commands()
        self._progress = Progress(graph)
        self._troubles: dict[str, str] = {}  # by name of what is not done, or kept back, why
        self._parts: dict[str, str] = {}  # by name of what is done in part, what is missing

    def run(self, goals: Sequence[str], stale: Iterable[Path] = ()) -> dict[str, str]:
        """Do what is not done of some steps and of all that they need.

        Args:
            goals: names of the steps.
            stale: files and folders of an earlier run that go before anything is done.

        Returns:
            By name of those that are not done, or in part, why not.
        """
        with alone(self._graph.run, patience=PATIENCE) as lock, ended_by_signal(hint=GOES_ON):
            remove(stale)
            waiting = to_do(self._graph, goals)
            slots = list(self._machine.slots)
            running: dict[Future[str], tuple[Step, Slot]] = {}
            self._troubles, self._parts = {}, {}
            with ThreadPoolExecutor(len(slots)) as pool:
                try:
                    while waiting or running:
                        for step in self._ready(waiting, [step for step, _ in running.values()]):
                            if not slots:
                                break
                            slot = slots.pop(0)
                            waiting.remove(step)
                            running[pool.submit(self._do, step, slot, lock)] = step, slot
                        if not running:
                            break
                        done, _ = wait(running, EVERY, FIRST_COMPLETED)
                        if not done:
                            under_way = [step for step, _ in running.values()]
                            total = len(self._machine.slots)
                            self._say(self._progress.line(under_way, waiting, total))
                        for future in done:
                            step, slot = running.pop(future)
                            slots.insert(0, slot)
                            self._take(future, step)
                        for step in [*waiting]:  # each stands behind what it needs
                            if step.kept_back(self._troubles):
                                self._troubles[step.name] = ""
                                waiting.remove(step)
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    self._commands.stop()
                    raise
        whys = {**self._troubles, **self._parts}
        return {name: why for name, why in whys.items() if why}

    def _ready(self, waiting: Sequence[Step], running: Sequence[Step]) -> list[Step]:
        """Steps whose needs are done, of each place one at a time."""
        left = {step.name for step in (*waiting, *running)}
        busy = {step.place for step in running}
        ready = []
        for step in waiting:
            if not left.intersection(step.needs) and (not step.place or step.place not in busy):
                ready.append(step)
                busy.add(step.place)
        return ready

    def _take(self, future: Future[str], step: Step) -> None:
        error = future.exception()
        if error is not None and not isinstance(error, UserError):
            raise error
        told = self._parts if error is None else self._troubles
        if why := str(error or future.result()):
            told[step.name] = why
            self._say(f"{step.name}: {why}")

    def _do(self, step: Step, slot: Slot, lock: int) -> str:
        """One step, to its end.

        Returns:
            What it is without, where it is not whole.

        Raises:
            UserError: a command of it failed.
        """
        record, log = self._graph.record(step.name), self._graph.log(step.name)
        goes_on = record.begun() and step.resumes is not None and step.resumes.exists()
        record.begin((*step.leaves, log))
        lost = [need for need in step.needs if need in self._troubles]
        missing = ", ".join(need for need in step.needs if need in {*lost, *self._parts})
        if step.kind in PARTLY:  # what is there after them is theirs
            remove(step.leaves)
        for need in lost:  # of which nothing may be there
            if place := self._graph[need].place:
                Path(place).mkdir(parents=True, exist_ok=True)
        for path, text in step.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text.splitlines())
        for path in (log, *step.leaves):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._say(f"{step.name}{': goes on' if goes_on else ''}")
        begun = time.monotonic()
        if step.text:
            step.text.unlink(missing_ok=True)
        commands = step.without(self._troubles)
        why = f"is without {missing}" if missing else ""
        for command in commands:
            words = [*self._machine.launcher(step.device), *_process(command)]
            if command is commands[-1]:
                if step.start and not (step.resumes and step.resumes.exists()):
                    words += step.start
                words += [*step.silent, *self._machine.words(step.device, slot)]
            environment = self._machine.environment(slot)
            code = self._commands.run(words, log, environment, lock, step.text)
            if code:
                ended = f"ended with {code}: {last_line(log)} (all of it: {log})"
                if code != 1 or step.kind not in PARTLY:
                    raise UserError(ended)
                why = why or ended
        if why and step.kind in PARTLY and not step.leaves[0].exists():
            raise UserError(why)
        if why:
            return why
        seconds = time.monotonic() - begun
        record.end(seconds)
        self._say(f"{step.name}: done in {duration(seconds)}")
        if step.kind == "training" and (stock := _stock(log)):
            self._say(stock)
        return ""


def _process(command: Command) -> Command:
    """The words of a command's process."""
    if command[0] == SCRIPT:
        return (sys.executable, str(CLONE / command[1]), *command[2:])
    return (*TDO, *command)


def _stock(log: Path) -> str:
    """The stock command that a training's log begins with."""
    with log.open(encoding="utf-8", errors="replace") as stream:
        found = STOCK.search(stream.read(1 << 16))
    return found[0] if found else ""


def to_do(graph: Graph, goals: Sequence[str]) -> list[Step]:
    """The steps that are to be done for some, in an order in which they can be."""
    wanted: set[str] = set()
    waiting = list(goals)
    while waiting:
        name = waiting.pop()
        if name not in wanted and not there(graph, graph[name]):
            wanted.add(name)
            waiting += graph[name].needs
    return [step for step in graph if step.name in wanted]


def there(graph: Graph, step: Step) -> bool:
    """Whether a step is done, and what it left is there."""
    return graph.done(step.name) and all(path.exists() for path in step.leaves[:1])
