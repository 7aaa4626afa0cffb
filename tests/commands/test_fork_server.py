"""A command behaves through the fork server as it does in a Python of its own."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import environment
from support.fork_server import PYTHON, environment_folder
from support.processes import finished, until

PYTHONS = ("its own", "the fork server's")
# A package that the server takes for ours: what a command does is the text of a variable.
PACKAGE = "import os; exec(os.environ['DOES'])"


@pytest.fixture
def tdo_plugin_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "path" / "tdo_plugin"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "__main__.py").write_text(PACKAGE)
    return folder.parent


def python(which: str) -> Path:
    return Path(PYTHON) if which == "its own" else environment_folder() / "bin" / "python"


def settings(folder: Path, does: str, **more: str) -> dict[str, str]:
    return {**environment(), "PYTHONPATH": str(folder), "DOES": does, **more}


def both(folder: Path, does: str, *words: object, **more: str) -> list[tuple[int, str, str]]:
    """(exit code, output, errors) of either way."""
    results = []
    for which in PYTHONS:
        command = [python(which), "-m", "tdo_plugin", *words]
        done = finished(command, env=settings(folder, does, **more), cwd=folder, stdin="given\n")
        results.append((done.returncode, done.stdout, done.stderr))
    return results


SAYS = """
import json, pathlib, sys, warnings, torch
print(json.dumps([sys.argv[1:], os.getcwd(), sys.path[:2], sys.flags.utf8_mode, sys.warnoptions]))
print(input(), sys.stdout.encoding, os.path.basename(sys.executable), os.umask(0), __name__)
print(sorted(set(os.environ) - {"LC_CTYPE"}), os.nice(0), sys.stdin.read())
print("an error", file=sys.stderr)
with open(9) as more:
    print(more.read())
sys.exit(7)
"""


def test_words_streams_files_and_exit_code(tdo_plugin_folder: Path) -> None:
    """Through a shell, which opens one file more."""
    results = []
    for which in PYTHONS:
        command = f"exec '{python(which)}' -m tdo_plugin a 'b c' 9<<<more"
        line = f"cd '{tdo_plugin_folder}' && umask 027 && {command}"
        env = settings(tdo_plugin_folder, SAYS)
        done = finished(["bash", "-c", line], env=env, stdin="one\ntwo")
        results.append((done.returncode, done.stdout, done.stderr))
    assert results[0] == results[1]
    code, output, errors = results[1]
    assert code == 7 and errors == "an error\n"
    assert '["a", "b c"]' in output and "more" in output and " 23 __main__" in output


@pytest.mark.parametrize(
    ("does", "code"),
    [
        ("pass", 0),
        ("import sys; sys.exit('a line')", 1),
        ("import atexit; atexit.register(print, 'left'); print('works')", 0),
        ("import os; os._exit(3)", 3),
        ("import sys; sys.stdout = open('/dev/full', 'w'); print('lost')", 120),
        ("import sys; sys.stdout = open('/dev/full', 'w'); print('x' * 6000)", 120),
        ("import io, sys; print('first'); sys.stdout = io.StringIO(); print('second')", 0),
        ("import sys; sys.stdout = None", 0),
        ("import sys; sys.stdout.close()", 0),
        ("import sys; sys.exit(True)", 1),
        ("import sys; sys.exit(-1)", 255),
        ("import threading; threading.Thread(target=lambda: print(1 / 0)).start()", 0),
        ("import os; os.kill(os.getpid(), 9)", -9),
        ("import os; os.kill(os.getpid(), 15)", -15),
        ("import os, signal; signal.raise_signal(signal.SIGINT)", -2),
        ("import ctypes; ctypes.string_at(0)", -11),
        ("import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))", 0),
        ("import threading; threading.Timer(0.2, print, ['late']).start()", 0),
    ],
)
def test_ways_to_end(does: str, code: int, tdo_plugin_folder: Path) -> None:
    real, served = both(tdo_plugin_folder, does)
    assert real[0] == served[0] == code
    assert real[1] == served[1]
    assert real[2].splitlines()[-1:] == served[2].splitlines()[-1:]  # of a traceback, the last line


@pytest.mark.parametrize("which", PYTHONS)
def test_an_open_file_with_a_high_number(which: str, tdo_plugin_folder: Path) -> None:
    """As a process that has many open files hands on."""
    number, (reader, writer) = 513, os.pipe()
    os.dup2(reader, number)
    os.write(writer, b"given")
    done = subprocess.run(
        [python(which), "-m", "tdo_plugin"],
        env=settings(tdo_plugin_folder, f"print(os.read({number}, 9))"),
        cwd=tdo_plugin_folder,
        pass_fds=[number],
        capture_output=True,
    )
    for each in (number, reader, writer):
        os.close(each)
    assert (done.returncode, done.stdout) == (0, b"b'given'\n")


def test_a_traceback_and_a_warning(tdo_plugin_folder: Path) -> None:
    """Filters of warnings are those of the command's environment."""
    warns = "import warnings; warnings.warn('careful')"
    for filters, code in (("error", 1), ("ignore", 0)):
        real, served = both(tdo_plugin_folder, warns, PYTHONWARNINGS=filters)
        assert real[0] == served[0] == code
        assert real[2].splitlines()[-1:] == served[2].splitlines()[-1:]


def test_our_commands(tmp_path: Path) -> None:
    results = []
    for folder in (Path(PYTHON).parent, environment_folder() / "bin"):
        words = [folder / "tdo", "flags", "quickstart/tdo-instrucl"]
        help_ = [folder / "fairseq-train", "--help"]
        wrong = [folder / "python", "-m", "tdo_plugin", "flags", "no.conf"]
        done = [finished(line, env=environment(), cwd=tmp_path) for line in (words, help_, wrong)]
        outputs = [re.sub(r"(?m)^[-\d]+ [:\d]+ ", "", run.stdout) for run in done]  # without times
        results.append(
            [(run.returncode, out, run.stderr) for run, out in zip(done, outputs, strict=True)]
        )
    assert results[0] == results[1]
    assert [code for code, _, _ in results[1]] == [0, 0, 2]


WAITS = """
import pathlib, signal, sys, time
place = pathlib.Path(os.environ["PLACE"])
def told(number, frame):
    # not by print, which must not be called while it is under way: the next signal may come then
    os.write(1, f"told {number}\\n".encode())
    if number == signal.SIGTERM:
        sys.exit(143)
for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
    signal.signal(number, told)
(place / "new").write_text(str(os.getpid()))
(place / "new").rename(place / "pid")
time.sleep(100)
"""


@pytest.fixture
def waiting(tdo_plugin_folder: Path, tmp_path: Path) -> Iterator:
    """Starts a command that waits; returns the process and the number of what really waits."""
    started: list[subprocess.Popen[str]] = []

    def start(which: str, does: str = WAITS) -> tuple["subprocess.Popen[str]", int]:
        command = [python(which), "-m", "tdo_plugin"]
        env = settings(tdo_plugin_folder, does, PLACE=str(tmp_path))
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, env=env, cwd=tdo_plugin_folder, stdout=pipe, text=True)
        started.append(process)
        until(lambda: (tmp_path / "pid").exists() or process.poll() is not None, 100)
        number = int((tmp_path / "pid").read_text())
        (tmp_path / "pid").unlink()
        return process, number

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def has_gone(number: int) -> bool:
    return not Path(f"/proc/{number}").exists()


@pytest.mark.parametrize("which", PYTHONS)
def test_signals_are_handed_on(which: str, waiting) -> None:
    process, number = waiting(which)
    for sent_signal in (signal.SIGUSR1, signal.SIGHUP):
        process.send_signal(sent_signal)
        assert process.stdout.readline() == f"told {int(sent_signal)}\n"
    process.terminate()
    assert process.communicate()[0] == "told 15\n" and process.returncode == 143
    assert has_gone(number)


@pytest.mark.parametrize("which", PYTHONS)
def test_a_signal_that_whoever_starts_a_command_ignores(which: str, waiting) -> None:
    """As under nohup: a command that asks to be told of it is told."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process, _ = waiting(which)
    finally:
        signal.signal(signal.SIGHUP, before)
    process.send_signal(signal.SIGHUP)
    assert process.stdout.readline() == "told 1\n"


@pytest.mark.parametrize("which", PYTHONS)
def test_a_killed_command(which: str, waiting) -> None:
    """Whoever stands for it, or the one that really runs."""
    process, number = waiting(which)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    until(lambda: has_gone(number), 100)
    process, number = waiting(which)
    os.kill(number, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


CHILD = """
import pathlib, subprocess, sys
words = [sys.executable, "-m", "tdo_plugin"]
child = subprocess.Popen(words, env={**os.environ, "DOES": os.environ["WAITS"]})
print("ended with", child.wait())
"""


@pytest.mark.parametrize("which", PYTHONS)
def test_a_killed_child(which: str, waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that starts another, which is killed, learns of it."""
    monkeypatch.setenv("WAITS", WAITS)
    process, number = waiting(which, CHILD)
    os.kill(number, signal.SIGKILL)
    assert process.communicate()[0] == "ended with -9\n" and process.returncode == 0


def test_what_an_interpreter_reads_at_its_start_is_left_to_python(tdo_plugin_folder: Path) -> None:
    """A Python of its own has no torch before it is imported."""
    does = "import sys; print('torch' in sys.modules)"
    served = [
        both(tdo_plugin_folder, does, **more)[1][1] == "True\n"
        for more in (
            *({}, {"PYTHON": "python"}),  # of scripts, which no interpreter reads
            *({"OMP_NUM_THREADS": "3"}, {"PYTHONHASHSEED": "1"}, {"LC_ALL": "C"}),
        )
    ]
    assert served == [True, True, False, False, False]


FORKS = """
print(os.getppid(), flush=True)
parent = os.getpid()
child = os.fork()
if not child:
    os._exit(os.getppid() != parent)
print(os.waitpid(child, 0)[1])
"""
SPAWNS = """
import multiprocessing, sys, time
import torch.multiprocessing
context = multiprocessing.get_context("spawn")
if __name__ == "__main__":
    with context.Pool(2) as pool:
        print(pool.map(abs, [-1, 2]), pool.apply(eval, ["__import__('sys').warnoptions[-1]"]))
        print(pool.apply(eval, ["'torch' in __import__('sys').modules"]))
    process = context.Process(target=os._exit, args=(5,))
    process.start()
    process.join()
    print(process.exitcode)
    process = context.Process(target=time.sleep, args=(100,))
    process.start()
    process.kill()
    process.join()
    print(process.exitcode)
"""


IMPORTED = "import sys; print([name in sys.modules for name in ('torch', 'fairseq')])"


def test_children_and_imports(tdo_plugin_folder: Path) -> None:
    """Whose child it is and its own are; spawned processes are forked too; torch is there."""
    child = f"{os.getpid()}\n0\n"
    for does, of_its_own, of_the_server in (
        (FORKS, child, child),
        (IMPORTED, "[False, False]\n", "[True, False]\n"),
        (SPAWNS, "[1, 2] ignore\nFalse\n5\n-9\n", "[1, 2] ignore\nTrue\n5\n-9\n"),
    ):
        real, served = both(tdo_plugin_folder, does, PYTHONWARNINGS="ignore")
        assert (real[:2], served[:2]) == ((0, of_its_own), (0, of_the_server)), served[2]
