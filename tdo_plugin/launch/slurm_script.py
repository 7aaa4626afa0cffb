"""Slurm scripts for training on one or several machines, and for other long jobs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.launch.training import Machine
from tdo_plugin.names import check_line

# words of a command that the script replaces
RENDEZVOUS = '"$rendezvous"'
START = '${start[@]+"${start[@]}"}'

# Slurm signals the workers this many seconds before their time limit. torchrun kills workers that
# have not ended 100 seconds later (tdo_compat/distributed.py).
WARNING = 120

# Machines end each other, with the exit code of the first. Slurm would end them by a signal, whose
# exit code would requeue the job, so SLURM_WAIT makes Slurm wait longer.
STAYS = "--kill-on-bad-exit=0"
SRUN = f"srun {STAYS}"
PATIENCE = WARNING + 30
WAIT = f"export SLURM_WAIT=${{SLURM_WAIT:-{PATIENCE}}}"

PORTS = 20000  # the first rendezvous port, and the number of ports
GIVEN_CORES, TAKEN_CORES = "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK"  # by sbatch, by srun

FIRST_HOST = f"""\
# The machines rendezvous at the first of them, at a port that other jobs do not use.
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
rendezvous=${{hosts[0]}}:$(({PORTS} + SLURM_JOB_ID % {PORTS}))
"""

CORES = f"""\
# srun reads its tasks' cores from a variable that sbatch does not set.
if [[ -n ${{{GIVEN_CORES}:-}} ]]; then export {TAKEN_CORES}=${GIVEN_CORES}; fi
"""

BEGINS = """\
# Start flags, which are omitted once the training has a checkpoint of its own.
start=({start})
if [[ -e {folder}/checkpoint_last.pt ]]; then start=(); fi
"""

AGAIN = """\
# 143: a signal has ended the training near its time limit. If this turn has written a checkpoint,
# the job is requeued, and the same command resumes from there; without a checkpoint the job would
# never end. scancel also signals this shell, and then the job is not requeued.
if ((code == 143)) && [[ -z $cancelled ]]; then
  if [[ $(find {folder} -name 'checkpoint*.pt' -newermt "@$began") ]]; then
    scontrol requeue "$SLURM_JOB_ID"
    exit "$code"
  fi
  echo "not requeued, as no checkpoint was written in this turn" >&2
fi
"""

ENDED = """\
echo "$code" >{file}.partial
mv {file}.partial {file}
"""


def job_script(
    name: str,
    machine: Machine,
    folder: Path,
    commands: Sequence[Sequence[str]],
    options: Sequence[str],
    start: Sequence[str] = (),
    printed: Path | None = None,
    ended: Path | None = None,
) -> str:
    """The script of a training run, or of other work, on all machines of an allocation.

    Args:
        name: the job's name.
        machine: GPUs and number of machines.
        folder: the checkpoint folder, which also gets the log of all workers and turns.
        commands: the commands that each machine runs in order, up to the first that fails;
            `RENDEZVOUS` is replaced by HOST:PORT, and `START` by `start`.
        options: further options of sbatch, such as `--time=24:00:00`; later ones override earlier.
        start: start flags, used until there is a checkpoint to resume from.
        printed: file for the standard output of the commands (default: the log).
        ended: file for the exit code, written unless the job is requeued.

    Raises:
        UserError: a value with a control character, which could end its line.
    """
    check_line("--save-dir", folder)
    check_line("CONFIG", name)
    check_line("--sbatch", *options)
    directives = [f"--job-name={name}", f"--output={folder / 'slurm-%j.log'}", "--open-mode=append"]
    directives += [f"--nodes={machine.nodes}", "--ntasks-per-node=1"]
    directives += [f"--gpus-per-node={machine.gpus}"] if machine.gpus else []
    directives += [f"--signal=TERM@{WARNING}", "--requeue"]
    place = shlex.quote(str(folder))
    body = ["began=$(date +%s)", "cancelled=", "trap 'cancelled=1' TERM", "code=0"]
    if any(RENDEZVOUS in command for command in commands):
        body.append(FIRST_HOST.rstrip())
    if start:
        words = " ".join(map(quoted, start))
        body.append(BEGINS.rstrip().format(start=words, folder=place))
    body += [CORES.rstrip(), WAIT]
    if printed is not None:  # remove output of an earlier turn
        body.append(f": >{quoted(str(printed))}")
    body.append(" &&\n".join(_run(command, printed) for command in commands) + " || code=$?")
    body.append(AGAIN.rstrip().format(folder=place))
    if ended is not None:
        body.append(ENDED.rstrip().format(file=quoted(str(ended))))
    lines = [f"#SBATCH {shlex.quote(option)}" for option in (*directives, *options)]
    head = ["#!/usr/bin/env bash", *lines, "set -euo pipefail"]
    return "\n".join([*head, *body, 'exit "$code"'])


def _run(command: Sequence[str], printed: Path | None) -> str:
    words = [word if word in (RENDEZVOUS, START) else quoted(word) for word in command]
    lines = [SRUN, *_lines(words), *([f">>{quoted(str(printed))}"] if printed else [])]
    return " \\\n  ".join(lines)


def quoted(word: str) -> str:
    """A word quoted for a script's command.

    Raises:
        UserError: the word has a control character.
    """
    check_line(word.partition("=")[0] if word.startswith("--") else "a word of the command", word)
    return shlex.quote(word)


def _lines(words: Sequence[str]) -> list[str]:
    """A command's words as lines, one for each option with its values."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return [" ".join(line) for line in lines]
