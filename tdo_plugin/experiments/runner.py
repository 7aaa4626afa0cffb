"""Runs the steps of a run that are not done, several at a time.

A failed step blocks only the steps that need it; scores, reports and drawings of several rows are
made from the available rows, and remade when the others become available. A run that was
interrupted at any point can be resumed: each step has a record
(:mod:`~tdo_plugin.experiments.steps`), a training run has checkpoints, and commands end with this
process, however it ends. Slurm jobs are cancelled when this process ends; if it is killed, the next
run waits for them.
"""

from __future__ import annotations

import hashlib
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.machine import Machine, Slot
from tdo_plugin.experiments.progress import STOCK, Progress
from tdo_plugin.experiments.slurm_jobs import Job, SlurmJobs
from tdo_plugin.experiments.steps import SCRIPT, Command, Graph, Step, remove, shown
from tdo_plugin.installation import FILES
from tdo_plugin.launch import training as launch
from tdo_plugin.launch.slurm_script import START, job_script
from tdo_plugin.runtime.commands import Commands
from tdo_plugin.runtime.durations import duration
from tdo_plugin.runtime.files import write_text
from tdo_plugin.runtime.lock import alone
from tdo_plugin.runtime.log_ends import last_line
from tdo_plugin.runtime.memory import PeakMemory, gib, machine_memory
from tdo_plugin.runtime.signals import GOES_ON, ended_by_signal

TDO = (sys.executable, "-m", "tdo_plugin")
KEPT = "finished steps are kept, and of a running training its last checkpoint"
EVERY = 30.0  # seconds between lines about running steps
PARTLY = ("scores", "report")  # kinds whose commands exit with 1 if something is missing
KILLED = -signal.SIGKILL, 128 + signal.SIGKILL  # its own end, and of a process that it waited for
PATIENCE = 120.0  # seconds for a terminated training to write its checkpoint (torchrun: 100)

Say = Callable[[str], None]


class Runner:
    """Runs steps.

    Args:
        graph: the steps.
        machine: the resources for steps.
        say: called with a line when a step starts or ends, and regularly with the progress.
    """

    def __init__(self, graph: Graph, machine: Machine, say: Say) -> None:
        self._graph, self._machine, self._say = graph, machine, say
        self._commands, self._jobs = Commands(PATIENCE), SlurmJobs(say)
        self._progress = Progress(graph)
        self._troubles: dict[str, str] = {}  # failed or blocked steps, and why
        self._parts: dict[str, str] = {}  # incomplete steps, and what is missing
        self._shown: set[str] = set()  # trainings whose stock command was shown

    def run(
        self, goals: Sequence[str], stale: Iterable[Path] = (), fresh: Sequence[Step] = ()
    ) -> dict[str, str]:
        """Run the steps that are not done among some steps and all that they need.

        Args:
            goals: names of the steps.
            stale: files and folders of an earlier run to remove first.
            fresh: steps to redo even if they are done.

        Returns:
            The reason for each failed or incomplete step, by name.
        """
        with alone(self._graph.run, patience=PATIENCE) as lock, ended_by_signal(hint=GOES_ON):
            for step in fresh:
                self._graph.record(step.name).forget()
            remove([*stale, *(path for step in fresh for path in step.leaves)])
            waiting = to_do(self._graph, goals)
            free = {False: list(self._machine.slots), True: list(self._machine.jobs)}
            slots = sum(map(len, free.values()))
            running: dict[Future[str], tuple[Step, Slot]] = {}
            self._troubles, self._parts = {}, {}
            with self._commands.threads(slots) as pool:
                try:
                    while waiting or running:
                        for step in self._ready(waiting, [step for step, _ in running.values()]):
                            if not (own := free[self._machine.submits(step.device)]):
                                continue
                            slot = own.pop(0)
                            waiting.remove(step)
                            running[pool.submit(self._do, step, slot, lock)] = step, slot
                        if not running:
                            break
                        done, _ = wait(running, EVERY, FIRST_COMPLETED)
                        if not done:
                            under_way = [step for step, _ in running.values()]
                            for step in under_way:
                                self._show_stock(step)
                            self._say(self._progress.line(under_way, waiting, slots))
                        for future in done:
                            step, slot = running.pop(future)
                            free[self._machine.submits(step.device)].insert(0, slot)
                            self._take(future, step)
                        for step in [*waiting]:  # each step follows the steps it needs
                            if step.kept_back(self._troubles):
                                self._troubles[step.name] = ""
                                waiting.remove(step)
                except BaseException as error:
                    if isinstance(error, (KeyboardInterrupt, SystemExit)):
                        self._say(f"stopping; {KEPT}")
                    self._jobs.stop()
                    raise
        whys = {**self._troubles, **self._parts}
        return {name: why for name, why in whys.items() if why}

    def _ready(self, waiting: Sequence[Step], running: Sequence[Step]) -> list[Step]:
        """The steps with no unfinished needs, one at a time per output folder."""
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
        reasons = self._parts if error is None else self._troubles
        if why := str(error or future.result()):
            reasons[step.name] = why
            self._say(f"{step.name}: {why}")

    def _do(self, step: Step, slot: Slot, lock: int) -> str:
        """Run one step to its end.

        Returns:
            What an incomplete step lacks, else an empty text.

        Raises:
            UserError: a command failed.
        """
        record, log = self._graph.record(step.name), self._graph.log(step.name)
        submits = self._machine.submits(step.device)
        lost = [need for need in step.needs if need in self._troubles]
        missing = [need for need in step.needs if need in lost or need in self._parts]
        step = replace(step, commands=step.without(lost))
        job = job_of(self._graph, self._machine, step, slot if submits else ())
        begun, peak = time.monotonic(), PeakMemory()
        code: int | None = 0
        if not self._jobs.left(job, record.begun() and not record.done(), submits):
            self._begin(step, job)
            code = self._jobs.run(job) if submits else self._run(step, slot, lock, peak)
        ended = f"{self._describe_end(code, step, peak)}: {last_line(log)} (full log: {log})"
        if (code and not (_partly(step, code) and step.leaves[0].exists())) or code is None:
            raise UserError(ended)
        if missing or code:
            job.code.unlink(missing_ok=True)  # the next run repeats the step
            return f"incomplete, without {', '.join(missing)}" if missing else ended
        seconds = time.monotonic() - begun
        record.end(seconds)
        held = f", peak memory {peak}" if step.kind == "training" and peak.bytes else ""
        self._say(f"{step.name}: done in {duration(seconds)}{held}")
        self._show_stock(step)
        return ""

    def _show_stock(self, step: Step) -> None:
        """Show a training's stock command once, as soon as its log has it."""
        if step.kind != "training" or step.name in self._shown:
            return
        if stock := _stock(self._graph.log(step.name)):
            self._say(stock)
            self._shown.add(step.name)

    def _describe_end(self, code: int | None, step: Step, peak: PeakMemory) -> str:
        """How a step ended that did not end well."""
        if code is None:
            return "left Slurm's queue"
        if code not in KILLED:
            return f"ended with {code}"
        held = f"; its peak was {peak} of {gib(machine_memory())}" if peak.bytes else ""
        less = "half of --max-tokens with twice --update-freq, needs less"
        if self._machine.submits(step.device):
            less = f"an `--sbatch` that asks for more memory, or {less}"
        elif len(self._machine.slots) > 1:
            less = f"`--jobs 1`, or {less}"
        advice = f"; {less}" if step.kind == "training" else ""
        return f"killed, probably for lack of memory{held}{advice}"

    def _begin(self, step: Step, job: Job) -> None:
        """Remove the output of an outdated step, unless the step resumes, and write its files."""
        record, log = self._graph.record(step.name), job.log
        goes_on = record.begun() and step.resumes is not None and step.resumes.exists()
        record.begin((*step.leaves, log, job.code))
        if step.kind in PARTLY:  # so that any output is from this run
            remove(step.leaves)
        for need in step.needs:
            if need in self._troubles and (place := self._graph[need].place):
                self._leave_none_of_before(place)
        for path, text in step.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(
                path, text.removesuffix("\n").split("\n")
            )  # a label may have other line ends
        for path in (log, *step.leaves):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._say(f"{step.name}{': resumed' if goes_on else ''}")
        for command in step.commands:
            self._say(shown(command))
        if step.text:
            step.text.unlink(missing_ok=True)

    def _leave_none_of_before(self, place: str) -> None:
        """Create a failed step's output folder, without output of an outdated step."""
        own = (step for step in self._graph if step.place == place)
        if not any(self._graph.record(step.name).begun() for step in own):
            remove([Path(place)])
        Path(place).mkdir(parents=True, exist_ok=True)

    def _run(self, step: Step, slot: Slot, lock: int, peak: PeakMemory) -> int:
        """Run a step's commands up to the first that fails; returns the exit code."""
        start = () if step.resumes and step.resumes.exists() else step.start
        environment = self._machine.environment(slot)
        worst = 0
        launcher = self._machine.launcher(step.device)
        watch = None if launcher else peak  # srun's processes are not of this machine alone
        for words in processes(step, self._machine, slot, start):
            log = self._graph.log(step.name)
            code = self._commands.run(
                [*launcher, *words], log, environment, lock, step.text, peak=watch
            )
            if code and not _partly(step, code):
                return code
            worst = max(worst, code)
        return worst


def _partly(step: Step, code: int) -> bool:
    """Whether the exit code means that the command's input was incomplete."""
    return code == 1 and step.kind in PARTLY


def processes(step: Step, machine: Machine, slot: Slot, start: Command) -> list[Command]:
    """The command lines of a step's processes, in order.

    Args:
        step: the step.
        machine: the resources for steps.
        slot: the step's GPUs.
        start: start flags for its last command.
    """
    last = (*start, *step.silent, *machine.words(step.device, slot))
    commands = [_process(command) for command in step.commands]
    return [*commands[:-1], *((*command, *last) for command in commands[-1:])]


def job_of(graph: Graph, machine: Machine, step: Step, slot: Slot) -> Job:
    """A step as a Slurm job; its script is empty on a machine without Slurm jobs."""
    record = graph.record(step.name)
    script = record.path.with_suffix(".sh")
    run = hashlib.sha256(str(graph.run).encode()).hexdigest()[:8]
    key = record.key
    if step.commands != graph[step.name].commands:  # of an incomplete step
        key += hashlib.sha256(repr(step.commands).encode()).hexdigest()[:8]
    job = Job(step.name, f"{step.name}.{run}", key, script, graph.log(step.name))
    if not machine.submits(step.device):
        return job
    text = job_script(
        job.name,
        launch.Machine(min(len(slot), 1) if step.device == "one" else len(slot)),
        step.resumes.parent if step.resumes else script.parent,
        processes(step, machine, slot, (START,) if step.start else ()),
        machine.sbatch,
        step.start,
        step.text,
        job.code,
    )
    return replace(job, text=text, environment=machine.environment(()))


def _process(command: Command) -> Command:
    """The command line of a command's process."""
    if command[0] == SCRIPT:
        return (sys.executable, str(FILES / command[1]), *command[2:])
    return (*TDO, *command)


def _stock(log: Path) -> str:
    """The stock command at the beginning of a training log."""
    try:
        with log.open(encoding="utf-8", errors="replace") as stream:
            found = STOCK.search(stream.read(1 << 16))
    except FileNotFoundError:  # a job in the queue
        return ""
    return found[0] if found else ""


def to_do(graph: Graph, goals: Sequence[str]) -> list[Step]:
    """The steps that must run for some goals, in a valid order."""
    wanted: set[str] = set()
    waiting = list(goals)
    while waiting:
        name = waiting.pop()
        if name not in wanted and not there(graph, graph[name]):
            wanted.add(name)
            waiting += graph[name].needs
    return [step for step in graph if step.name in wanted]


def refuse_foreign(graph: Graph, steps: Sequence[Step]) -> None:
    """Raise UserError if a step would replace files that no run of this folder made."""
    for step in steps:
        for path in graph.foreign(step):
            what = "has a training from" if step.resumes else "is from"
            raise UserError(
                f"`--out` must be new or a run folder of tdo reproduce; {path} {what} something "
                "else"
            )


def there(graph: Graph, step: Step) -> bool:
    """Whether a step is done and its output still exists."""
    return graph.done(step.name) and all(path.exists() for path in step.leaves[:1])
