"""Scripts for Slurm: of a training on several machines, and of other work that takes long."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.launch.training import Machine
from tdo_plugin.names import check_line

# words of a command, which the script knows
RENDEZVOUS = '"$rendezvous"'
START = '${start[@]+"${start[@]}"}'

# So many seconds before the end of their time Slurm tells the workers. torchrun ends by force what
# is not done 100 seconds later (tdo_compat/distributed.py).
WARNING = 120

# Machines end each other, with the exit code of the first. Slurm, which would end them by a signal,
# comes after the seconds of SLURM_WAIT; the signal's exit code would ask for another turn.
STAYS = "--kill-on-bad-exit=0"
SRUN = f"srun {STAYS}"
PATIENCE = WARNING + 30
WAIT = f"export SLURM_WAIT=${{SLURM_WAIT:-{PATIENCE}}}"

PORTS = 20000  # the first port at which machines meet, and how many there are
GIVEN_CORES, TAKEN_CORES = "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK"  # by sbatch, by srun

FIRST_HOST = f"""\
# The machines meet at the first of them, at a port that other jobs do not take.
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
rendezvous=${{hosts[0]}}:$(({PORTS} + SLURM_JOB_ID % {PORTS}))
"""

CORES = f"""\
# srun takes its tasks' cores from a variable that sbatch does not set.
if [[ -n ${{{GIVEN_CORES}:-}} ]]; then export {TAKEN_CORES}=${GIVEN_CORES}; fi
"""

BEGINS = """\
# How the training begins; in its further turns it has checkpoints of its own.
start=({start})
if [[ -e {folder}/checkpoint_last.pt ]]; then start=(); fi
"""

AGAIN = """\
# 143: a signal has ended the training, as its time is nearly over. Where this turn has written a
# checkpoint, the job waits for another, in which the same command goes on from there; without one
# it would never end. scancel tells this shell, too: that is an end.
if ((code == 143)) && [[ -z $cancelled ]]; then
  if [[ $(find {folder} -name 'checkpoint*.pt' -newermt "@$began") ]]; then
    scontrol requeue "$SLURM_JOB_ID"
    exit "$code"
  fi
  echo "no checkpoint was written in this turn, so that there is no other" >&2
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
    """The script of one training, or of other work, on all machines of an allocation.

    Args:
        name: of the job.
        machine: where it runs.
        folder: of the checkpoints; what all workers say goes there, too, of all turns of a job.
        commands: what each machine runs, one after the other, each if the one before ended well;
            the place of `RENDEZVOUS` is taken by HOST:PORT, that of `START` by `start`.
        options: further ones of sbatch, such as `--time=24:00:00`; the later ones are stronger.
        start: words for as long as there is no checkpoint to go on from.
        printed: file for what the commands print, if that is not for the log.
        ended: file for the exit code, written when there is no other turn.

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
    if printed is not None:  # an earlier turn may have printed some of it
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
    """A word of a script's command.

    Raises:
        UserError: it has a control character.
    """
    check_line(word.partition("=")[0] if word.startswith("--") else "a word of the command", word)
    return shlex.quote(word)


def _lines(words: Sequence[str]) -> list[str]:
    """A command's words, each option with its values on a line of its own."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return [" ".join(line) for line in lines]
