"""Commands without the seconds in which torch is imported.

:func:`environment_folder` looks like a virtual environment. Its ``python``, ``tdo`` and
``fairseq-...`` ask a process that has imported torch to fork, and then behave as the command does:
output, exit code, signals, open files. :func:`stand_in` lets tests start it for ``sys.executable``.

A command's process number is not its client's, and its children are not its client's. At its end,
objects that modules hold are not destroyed, unless it belonged to a group of processes. Tests that
depend on either start ``PYTHON``.
"""

import atexit
import functools
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.fork_server.client import APPLIED, starting_environment

HERE = Path(__file__).parent
PYTHON = sys.executable  # itself: imported before anything stands in its place
CLIENT = """#!{python} -IS
import sys
sys.path.insert(0, {here!r})
import client
client.main({folder!r})
"""


@functools.cache
def environment_folder() -> Path:
    """A folder to take for ``.venv``; it goes with this process."""
    folder = tempfile.TemporaryDirectory(prefix="tdo_plugin_fork_server_")
    root = Path(folder.name)
    environment = {
        key: value
        for key, value in os.environ.items()
        # commands are measured, and the server is not
        if key not in (*APPLIED, "COVERAGE_PROCESS_CONFIG")
    }
    environment["OMP_NUM_THREADS"] = "1"
    settings = {"python": PYTHON, "environment": starting_environment(environment)}
    (root / "server.json").write_text(json.dumps(settings))
    server = subprocess.Popen(
        [PYTHON, HERE / "server.py", root / "socket"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    _lay_out(root)
    assert server.stdout.readline() == b"ready\n", "the fork server did not start"
    for end in (folder.cleanup, server.wait, server.stdin.close):  # the last is called first
        atexit.register(end)
    return root


def _lay_out(root: Path) -> None:
    """The files of the real environment, but for the commands that are served."""
    real = Path(sys.prefix)
    for entry in real.iterdir():
        if entry.name != "bin":
            (root / entry.name).symlink_to(entry)
    (root / "bin").mkdir()
    text = CLIENT.format(python=PYTHON, here=str(HERE), folder=str(root))
    for entry in (real / "bin").iterdir():
        path = root / "bin" / entry.name
        if entry.name.startswith(("python", "fairseq-")) or entry.name in ("tdo", "torchrun"):
            path.write_text(text)
            path.chmod(0o755)
        else:
            path.symlink_to(entry)


def stand_in() -> None:
    """Let this process, and what it spawns, start the server's Python instead of its own."""
    sys.executable = str(environment_folder() / "bin" / "python")
    multiprocessing.set_executable(sys.executable)
