"""SIGTERM ends a command by an exception, and the outermost context says so."""

import os
import signal
import threading

import pytest

from tdo_plugin.cli import main
from tdo_plugin.runtime.signals import GOES_ON, ended_by_signal


@pytest.mark.parametrize(
    ("what", "outer", "inner", "printed"),
    [
        ("tdo score", "", "", "tdo score: ended by SIGTERM\n"),
        ("tdo score", "no hint", GOES_ON, f"tdo score: ended by SIGTERM; {GOES_ON}\n"),
        ("", "", GOES_ON, ""),
    ],
)
def test_one_line(what, outer, inner, printed, capsys):
    before, cleared = signal.getsignal(signal.SIGTERM), []
    with (
        pytest.raises(SystemExit) as ended,
        ended_by_signal(what, outer),
        ended_by_signal(hint=inner),
    ):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            cleared.append(True)
    assert ended.value.code == 143 and cleared
    assert capsys.readouterr().err == printed
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_closed_terminal_and_nohup(capsys):
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        with pytest.raises(SystemExit) as ended, ended_by_signal("tdo score"):
            os.kill(os.getpid(), signal.SIGHUP)
            signal.pause()
        assert ended.value.code == 129
        assert capsys.readouterr().err == "tdo score: ended by SIGHUP\n"
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with ended_by_signal("tdo score"):
            os.kill(os.getpid(), signal.SIGHUP)  # is ignored, as it was
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("command", ["score a=b --out x", "report x.json --out x"])
def test_commands_say_it(command, monkeypatch, capsys):
    def run(_):
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()

    name = command.partition(" ")[0]
    monkeypatch.setattr(f"tdo_plugin.cli.{name}.run", run)
    with pytest.raises(SystemExit) as ended:
        main(command.split())
    assert ended.value.code == 143
    assert capsys.readouterr().err == f"tdo {name}: ended by SIGTERM\n"


def test_other_threads_leave_signals_alone():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def work() -> None:
        with ended_by_signal("tdo"):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
