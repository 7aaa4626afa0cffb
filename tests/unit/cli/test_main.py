"""The ``tdo`` command as a whole."""

import os

import pytest

import tdo_plugin.cli as cli
from tdo_compat.errors import CLOSED
from tdo_plugin.cli import doctor
from tdo_plugin.errors import UserError


def test_every_command_has_help_and_a_parser():
    for name, parser in cli.build_parser()._subparsers._group_actions[0].choices.items():
        assert name in cli.COMMANDS
        assert parser.description
        assert callable(parser.get_default("run"))


def test_help_is_light(run):
    code = (
        "import sys; from tdo_plugin.cli import build_parser; build_parser();"
        "heavy = {'torch', 'numpy', 'fairseq', 'sacrebleu', 'matplotlib'} & set(sys.modules);"
        "sys.exit(' '.join(heavy) or 0)"
    )
    done = run("python", "-c", code)
    assert done.returncode == 0, done.stderr


def test_as_a_module(run):
    done = run("python", "-m", "tdo_plugin", "--help")
    assert done.returncode == 0
    assert "doctor" in done.stdout
    assert run("python", "-m", "tdo_plugin", "nonsense").returncode == 2


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UserError("`--x` must be 1; it is 2"), 2, "tdo doctor: error: `--x` must be 1; it is 2\n"),
        (KeyboardInterrupt(), 130, "tdo doctor: error: interrupted\n"),
        (
            NotADirectoryError(20, "Not a directory", "/x/y"),
            2,
            "tdo doctor: error: [Errno 20] Not a directory: '/x/y'\n",
        ),
    ],
)
def test_exit_codes(error, code, text, monkeypatch, capsys):
    def fail(args):
        raise error

    monkeypatch.setattr(doctor, "run", fail)
    assert cli.main(["doctor"]) == code
    assert capsys.readouterr().err == text


@pytest.mark.parametrize("at_once", [True, False])
def test_a_gone_reader_ends_a_command_without_a_word(at_once, monkeypatch, capfd):
    monkeypatch.setattr(doctor, "run", lambda args: print("a" * 100, flush=at_once) or 0)
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        assert cli.main(["doctor"]) == CLOSED
        stream.write("what Python still has to write when it ends")
    assert capfd.readouterr() == ("", "")


def test_another_broken_pipe_keeps_its_traceback(monkeypatch):
    def fail(args):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(doctor, "run", fail)
    with pytest.raises(BrokenPipeError):
        cli.main(["doctor"])


def test_a_bug_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(doctor, "run", lambda args: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["doctor"])
