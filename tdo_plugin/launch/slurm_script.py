"""Scripts for Slurm: their form, and that of a training on several machines."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from tdo_plugin.launch.training import Machine
from tdo_plugin.names import check_line

RENDEZVOUS = '"$rendezvous"'  # a word of the command, which the script knows

# So many seconds before the end of their time Slurm tells the workers. torchrun ends by force what
# is not done 100 seconds later (tdo_compat/distributed.py).
WARNING = 120

# Machines end each other, with the exit code of the first. Slurm, which would end them by a signal,
# comes after the seconds of SLURM_WAIT; the signal's exit code would ask for another turn.
SRUN = "srun --kill-on-bad-exit=0"
WAIT = f"export SLURM_WAIT=${{SLURM_WAIT:-{WARNING + 30}}}"

FIRST_HOST = """\
# The machines meet at the first of them, at a port that other jobs do not take.
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
rendezvous=${hosts[0]}:$((20000 + SLURM_JOB_ID % 20000))
"""

CORES = """\
# srun takes its tasks' cores from a variable that sbatch does not set.
if [[ -n ${SLURM_CPUS_PER_TASK:-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi
"""

AGAIN = """\
# 143: a signal has ended the training, as its time is nearly over. Where this turn has written a
# checkpoint, the job waits for another, in which the same command goes on from there; without one
# it would never end. scancel tells this shell, too: that is an end.
if ((code == 143)) && [[ -z $cancelled ]]; then
  if [[ $(find {folder} -name 'checkpoint*.pt' -newermt "@$began") ]]; then
    scontrol requeue "$SLURM_JOB_ID"
  else
    echo "no checkpoint was written in this turn, so that there is no other" >&2
  fi
fi
exit "$code"
"""


def script(options: Sequence[str], body: Sequence[str]) -> str:
    """A script's text: options of sbatch, the later ones being stronger, and lines of bash.

    Raises:
        UserError: an option with a control character, which could end its line.
    """
    check_line("--sbatch", *options)
    lines = [f"#SBATCH {shlex.quote(option)}" for option in options]
    return "\n".join(["#!/usr/bin/env bash", *lines, "set -euo pipefail", *body])


def training_script(
    name: str, machine: Machine, folder: Path, command: Sequence[str], options: Sequence[str]
) -> str:
    """The script of one training on all machines of an allocation.

    Args:
        name: of the job.
        machine: where to train.
        folder: of the checkpoints; what all workers say goes there, too, of all turns of a job.
        command: what each machine runs; the place of `RENDEZVOUS` is taken by HOST:PORT.
        options: further ones of sbatch, such as `--time=24:00:00`.

    Raises:
        UserError: a value with a control character, which could end its line.
    """
    check_line("--save-dir", folder)
    check_line("CONFIG", name)
    directives = [f"--job-name={name}", f"--output={folder / 'slurm-%j.log'}", "--open-mode=append"]
    directives += [f"--nodes={machine.nodes}", "--ntasks-per-node=1"]
    directives += [f"--gpus-per-node={machine.gpus}"] if machine.gpus else []
    directives += [f"--signal=TERM@{WARNING}", "--requeue"]
    words = [word if word == RENDEZVOUS else quoted(word) for word in command]
    lines = [SRUN, *_lines(words)]
    body = ["began=$(date +%s)", "cancelled=", "trap 'cancelled=1' TERM", "code=0"]
    body += [FIRST_HOST.rstrip()] if RENDEZVOUS in command else []
    body += [CORES.rstrip(), WAIT, " \\\n  ".join(lines) + " || code=$?"]
    body += [AGAIN.rstrip().format(folder=shlex.quote(str(folder)))]
    return script([*directives, *options], body)


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
