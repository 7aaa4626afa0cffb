"""Stands for Slurm's commands in tests: ``python slurm_stand_in.py COMMAND ...``.

A job is a file in $QUEUE, called by its number, as long as it is there: the process group of its
script (0 while it waits), and its name. As long as the file $HELD is there no job begins. `scontrol
requeue` lets the script run once more when this turn has ended.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = ("sbatch", "squeue", "scancel", "scontrol", "srun")


def install(folder: Path) -> str:
    """Write the commands into a folder; a PATH with them."""
    from support.fork_server import PYTHON  # this module itself is started without such

    folder.mkdir()
    for name in COMMANDS:
        text = f'#!/bin/sh\nexec {PYTHON} -S {__file__} {name} "$@"\n'
        if name == "srun":
            text = '#!/bin/sh\nshift\nexec "$@"\n'
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def sbatch(queue: Path, *words: str) -> int:
    """Submit a script, as the next number."""
    options = dict(word.removeprefix("--").partition("=")[::2] for word in words[:-1])
    number = 1 + len(list(queue.glob("*.submitted")))
    write(queue / str(number), f"0 {options['job-name']}")
    write(queue / f"{number}.submitted", options["job-name"])  # the last, tests wait for it
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        turns(queue, str(number), words[-1], options["output"].replace("%%", "%"))
        os._exit(0)
    print(number)
    return 0


def turns(queue: Path, number: str, script: str, log: str) -> None:
    """Run a job's script, as often as it asks to be put back."""
    file, again = queue / number, queue / f"{number}.again"
    while file.exists():
        while os.environ.get("HELD") and Path(os.environ["HELD"]).exists() and file.exists():
            time.sleep(0.02)
        with open(log, "a", encoding="utf-8") as stream:
            process = subprocess.Popen(
                ["bash", script],
                stdout=stream,
                stderr=stream,
                env={**os.environ, "SLURM_JOB_ID": number},
                start_new_session=True,
            )
            if file.exists():  # else it was cancelled meanwhile
                write(file, f"{process.pid} {file.read_text().partition(' ')[2]}")
            else:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if again.exists():
            again.unlink()
        else:
            file.unlink(missing_ok=True)


def write(path: Path, text: str) -> None:
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


def squeue(queue: Path, *_: str) -> int:
    """List the jobs that there are, unless $QUEUE has a file `silent`; each question is noted."""
    with (queue / "asked").open("a") as stream:
        stream.write("squeue\n")
    if (queue / "silent").exists():
        return 1
    for file in queue.iterdir():
        with contextlib.suppress(FileNotFoundError):  # the job has just ended
            if file.name.isdigit():
                print(file.name, file.read_text().partition(" ")[2])
    return 0


def scancel(queue: Path, *numbers: str) -> int:
    """End jobs, those that wait at once, and note it."""
    for number in numbers:
        (queue / f"{number}.cancelled").touch()
        group = int((queue / number).read_text().split()[0]) if (queue / number).exists() else None
        if group == 0:
            (queue / number).unlink()
        elif group:
            os.killpg(group, signal.SIGTERM)
    return 0


def scontrol(queue: Path, action: str, number: str) -> int:
    """Put a job back."""
    assert action == "requeue"
    (queue / f"{number}.again").touch()
    return 0


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](Path(os.environ["QUEUE"]), *sys.argv[2:]))
