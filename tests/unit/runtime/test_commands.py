"""Commands in processes of their own: what they are told, and how they end together."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from support.processes import until

from tdo_plugin.runtime import commands


@pytest.mark.parametrize(
    ("answer", "grace", "code"),
    [("signal.SIG_IGN", 0.3, -signal.SIGKILL), ("lambda *_: sys.exit(5)", 60.0, 5)],
    ids=["by force", "by itself"],
)
def test_what_runs_is_asked_to_end_and_made_to(tmp_path, answer, grace, code):
    text = f"import signal, sys, time; signal.signal(signal.SIGTERM, {answer})\n"
    text += "print('ready', flush=True); time.sleep(100)"
    ran, codes = commands.Commands(grace), []
    log = tmp_path / "log"

    def run() -> None:
        codes.append(ran.run([sys.executable, "-S", "-c", text], log, {}, 2))

    worker = threading.Thread(target=run)
    worker.start()
    until(lambda: log.exists() and log.read_text() == "ready\n", 120)
    ran.stop()
    worker.join()
    assert codes == [code]
    with pytest.raises(commands.Stopped):
        ran.run(["true"], log, {}, 2)


def test_output_goes_behind_what_is_there(tmp_path):
    log, text = tmp_path / "log", tmp_path / "text"
    log.write_text("before\n")
    ran = commands.Commands()
    words = ["sh", "-c", "echo said; echo $WORD >&2; exit 3"]
    assert ran.run(words, log, {"WORD": "aside"}) == 3
    assert log.read_text() == "before\nsaid\naside\n"
    assert ran.run(words, log, {"WORD": "again"}, text=text) == 3
    assert (text.read_text(), log.read_text()[-6:]) == ("said\n", "again\n")


def test_at_its_limit_a_command_ends_with_all_that_it_started(tmp_path):
    words = ["sh", "-c", "(trap '' TERM; sleep 1000) & wait"]
    read, write = os.pipe()  # both processes keep it open
    with open(read, "rb") as held:
        with pytest.raises(subprocess.TimeoutExpired):
            commands.Commands().run(words, tmp_path / "log", {}, write, limit=0.5)
        os.close(write)
        assert held.read() == b""  # or waits until the test's limit


def test_an_error_beside_commands_ends_them(tmp_path):
    ran, log = commands.Commands(), tmp_path / "log"
    with pytest.raises(KeyError), ran.threads(1) as pool:
        future = pool.submit(ran.run, ["sh", "-c", "echo ready; exec sleep 1000"], log, {})
        until(lambda: log.exists() and log.read_text())
        raise KeyError
    assert future.result() == -signal.SIGTERM
