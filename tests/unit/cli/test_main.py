"""The ``tdo`` command as a whole."""

import argparse
import os
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.commands import told
from support.processes import heard

import tdo_plugin.cli as cli
from tdo_compat.errors import CLOSED
from tdo_plugin.cli import doctor
from tdo_plugin.errors import UserError

ROOT = Path(__file__).parents[3]


def below(parser):
    """The commands of a parser, and theirs."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield command
                yield from below(command)


PARSER = cli.build_parser()


def shown(capsys, *words):
    """What `tdo` prints where it ends by itself."""
    printed, errors = told(capsys, *words)
    assert errors == ""
    return printed


@pytest.mark.parametrize("parser", list(below(PARSER)), ids=lambda parser: parser.prog)
def test_help_ends_with_an_example_that_is_understood(parser, capsys):
    printed = shown(capsys, *parser.prog.split()[1:], "--help")
    examples = printed.partition("\nexample:\n")[2].splitlines()
    assert examples and parser.description
    for example in examples:
        program, *words = shlex.split(example)
        assert program == "tdo" and example.strip().startswith(parser.prog)
        assert callable(PARSER.parse_args(words).run)
        for word in words:
            assert not word.startswith("configs/") or (ROOT / word).is_file()


def test_help_fits_on_a_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = shown(capsys, "--help").splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
    (also,) = (line for line in lines if line.startswith("also: "))
    commands = lines[4 : lines.index("", 4)]
    assert len(commands) <= 20
    for line in commands:  # the columns do not touch
        assert line[10] == line[38] == " " and line[39] != " "
    listed = [name for line in commands for name in line[11:39].split()]
    names = [*listed, *also.removeprefix("also: ").split()]
    assert [name.strip(",") for name in names] == list(cli.COMMANDS)
    assert list(PARSER._subparsers._group_actions[0].choices) == list(cli.COMMANDS)


@pytest.mark.parametrize(
    ("line", "present"),
    [
        ("allocate none --out masks", "neurons allocate"),
        ("ablate --path none --out out", "neurons ablate"),
        ("erase --path none --out out", "neurons ablate"),
        ("importance --path none --data none --out out", "neurons importance"),
        ("analyze neurons importance none --out out", "neurons draw importance"),
        ("analyze neurons allocation none --out out", "neurons draw allocation"),
        ("analyze preference --path none --data none --out out", "preference"),
        ("analyze sweep none --x a=1 --out out", "curve sweep"),
        ("curve a=none", "curve updates"),
    ],
)
def test_old_names_go_on_and_say_the_new_one(line, present, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed, errors = told(capsys, *shlex.split(line), code=2)
    warning, error = errors.splitlines()
    old, new = warning.split(": warning: this command is now called ")
    assert line.startswith(old.removeprefix("tdo "))
    assert error.startswith(f"tdo {present}: error: `") and not printed
    rest = line.removeprefix(old.removeprefix("tdo "))
    new = new.removeprefix("tdo ")
    assert told(capsys, *shlex.split(new + rest), code=2) == (printed, error + "\n")
    assert "PART" in shown(capsys, "curve", "--help")  # which is no old name


def test_versions(capsys):
    lines = dict(line.split() for line in shown(capsys, "--version").splitlines())
    for name in ("tdo_plugin", "fairseq", "torch"):
        assert lines[name] == metadata.version(name)
    assert "commit" in lines or not (ROOT / ".git").exists()


def test_completion(capsys, tmp_path):
    for shell in ("bash", "zsh", "tcsh"):
        script = shown(capsys, "--print-completion", shell)
        assert all(word in script for word in ("translate", "score-lm", "importance"))
    (tmp_path / "completion").write_text(shown(capsys, "--print-completion", "bash"))
    asking = """
        source ./completion
        COMP_WORDS=(tdo neurons al) COMP_CWORD=2
        $(complete -p tdo | sed "s/.*-F \\([^ ]*\\).*/\\1/")
        echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(
        ["bash", "-c", asking], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "allocate\n", done.stderr


def test_options_of_the_model(capsys):
    printed = shown(capsys, "train", "--help-model")
    for option in ("--tdo-target-layer", "--instrucl-scale", "--eval-translation", "--robt-share"):
        assert f"  {option} " in printed
    assert "--label-smoothing" not in printed and "--sampling-method" not in printed


def test_help_is_light(run):
    code = (
        "import sys; from tdo_plugin.cli import build_parser; build_parser();"
        "heavy = {'torch', 'numpy', 'fairseq', 'sacrebleu', 'matplotlib', 'shtab'};"
        "heavy &= set(sys.modules);"
        "sys.exit(' '.join(heavy) or 0)"
    )
    heard(run("python", "-c", code))


def test_as_a_module(run):
    assert "doctor" in heard(run("python", "-m", "tdo_plugin", "--help"))
    assert run("python", "-m", "tdo_plugin", "nonsense").returncode == 2


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UserError("`--x` must be 1; it is 2"), 2, "`--x` must be 1; it is 2"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (NotADirectoryError(20, "No folder", "/x/y"), 2, "/x/y: No folder"),
    ],
)
def test_exit_codes(error, code, text, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "run", Mock(side_effect=error))
    assert told(capsys, "doctor", code=code) == ("", f"tdo doctor: error: {text}\n")


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


@pytest.mark.parametrize("error", [BrokenPipeError(32, "Broken pipe"), ZeroDivisionError()])
def test_a_bug_and_another_broken_pipe_keep_their_traceback(error, monkeypatch):
    monkeypatch.setattr(doctor, "run", Mock(side_effect=error))
    with pytest.raises(type(error)):
        cli.main(["doctor"])


def test_what_is_refused(refused, tmp_path, monkeypatch):
    """With the nearest name, if one is near; what is gone is said with what does it now."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for side in ("hyp", "ref"):
        (tmp_path / "folder" / f"en-de.{side}").write_text("eins\n")
    refused.rows(
        """
        generate CONFIG DATA model.pt out              :: --engine fairseq, without CONFIG
        generate --help                                :: --engine fairseq, without CONFIG
        grid run grid.json data --out runs             :: reproduce FILE TABLE
        tranlsate                                      :: ; did you mean translate?
        neurons alocate                                :: ; did you mean allocate?
        report scores.json --out x --protocol opus10   :: ; did you mean opus100?
        score a=b --out x --metrcs bleu                :: ; did you mean --metrics?
        prepare multi3k --out x                        :: ; did you mean multi30k?
        score a=folder --out x --metrics bleu,chf      :: ; did you mean chrf?
        neurons draw importance x --out y --grdi z     :: --grdi z
        quite-another                                  :: quite-another
        """
    )
    monkeypatch.setitem(sys.modules, "shtab", None)
    refused("--print-completion", "bash", names="requires shtab")


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("average --inputs a --last 1 --output b.pt --force", "fresh", True),
        ("extend d --path a --languages=es,fr --out b", "langs", ("es", "fr")),
        ("prepare --from a --centre en --out b", "hub", "en"),
        ("corpus --out a --center de --share-center", "share_hub", True),
        ("export a b --to hf --dtype float16", "precision", "float16"),
        ("translate --path a --out b --workers 2", "workers", 2),
    ],
)
def test_earlier_names_of_options_are_read(words, name, value):
    args = cli.build_parser([words.split()[0]]).parse_args(words.split())
    assert getattr(args, name) == value
