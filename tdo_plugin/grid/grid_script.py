"""The Slurm script of a grid: an array, each task of which makes one run."""

from __future__ import annotations

from collections.abc import Sequence

from tdo_plugin.launch.slurm_script import quoted, script
from tdo_plugin.names import check_line

TASK = '"$SLURM_ARRAY_TASK_ID"'


def sbatch_script(
    name: str,
    tasks: int,
    log: str,
    command: Sequence[str],
    gpus: int,
    at_most: int | None,
    options: Sequence[str],
) -> str:
    """The script's text.

    Args:
        name: of the job.
        tasks: how many there are; their numbers begin with 0.
        log: file for what a task says; `%a` is its number.
        command: the words that make one run, but for its number, which takes the place of `TASK`.
        gpus: of each task; 0 asks for none.
        at_most: how many tasks run at a time; None leaves it to Slurm.
        options: further ones of sbatch, such as `--time=24:00:00`.

    Raises:
        UserError: a value with a control character, which could end its line.
    """
    check_line("--out", log)
    check_line("GRID", name)
    limit = f"%{at_most}" if at_most else ""
    directives = [f"--job-name={name}", f"--array=0-{tasks - 1}{limit}", f"--output={log}"]
    directives += [f"--gpus={gpus}"] if gpus else []
    words = [word if word == TASK else quoted(word) for word in command]
    # exec: the signal that Slurm ends a task with reaches the run itself
    return script([*directives, *options], [f"exec {' '.join(words)}"])
