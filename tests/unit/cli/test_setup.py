"""``tdo setup``: what it would run, what it runs, and what it says when that fails."""

import subprocess
import sys
from importlib import metadata

import pytest
from support.commands import shown_commands

from tdo_plugin import installation
from tdo_plugin.cli import doctor, main, setup


@pytest.fixture
def nothing_installed(monkeypatch):
    """As in a new environment, whose pip says what a test wants."""
    monkeypatch.setattr(setup, "_works", lambda code: False)
    monkeypatch.setattr(doctor, "is_pinned", lambda requirement: False)
    incomplete = doctor.Check("evaluation", "warn", "")
    monkeypatch.setattr(doctor, "check_evaluation", lambda: incomplete)
    monkeypatch.setattr(setup, "_check", lambda: 0)


@pytest.fixture
def pip(monkeypatch, nothing_installed):
    """Commands that were run, and what the next ones print and return."""
    ran, result = [], {"stdout": "", "code": 0}

    def run(words, **options):
        ran.append((words, options))
        return subprocess.CompletedProcess(words, result["code"], result["stdout"])

    monkeypatch.setattr(subprocess, "run", run)
    return ran, result


@pytest.mark.long
def test_a_dry_run_says_all_commands(capsys, nothing_installed):
    assert main(["setup", "--eval", "--dry-run"]) == 0
    folder, fairseq, evaluation, comet, check = shown_commands(capsys.readouterr().out)
    assert folder == ["cd", str(installation.FILES)]
    python = fairseq.index(sys.executable)
    assert fairseq[0] == "env"
    pins = {"PIP_CONSTRAINT=constraints.txt", "PIP_BUILD_CONSTRAINT=constraints.txt"}
    assert pins <= {*fairseq[1:python]}
    install = ["-m", "pip", "install", "--no-deps"]
    assert fairseq[python + 1 :] == [*install, installation.FAIRSEQ]
    assert {"bert-score<0.4,>=0.3.13", "scipy>=1.10"} <= {*evaluation[6:]}
    assert not any("tdo_plugin" in word for word in evaluation[6:])
    assert comet[1:] == [*install, installation.COMET]
    subprocess.run(check, check=True, capture_output=True)  # the tests' set-up has all of it


def test_what_is_there_stays(capsys, monkeypatch):
    monkeypatch.setattr(setup, "_check", lambda: 0)
    assert main(["setup", "--eval"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines() == [
        f"set-up: {installation.FAIRSEQ} is installed",
        f"set-up: the evaluation is installed, with {installation.COMET}",
    ]


def test_a_broken_fairseq_is_compiled_anew(capsys, nothing_installed, monkeypatch):
    monkeypatch.setattr(doctor, "is_pinned", lambda requirement: True)
    assert main(["setup", "--dry-run"]) == 0
    (_, words) = shown_commands(capsys.readouterr().out)
    assert words[-3:] == ["--force-reinstall", "--no-cache-dir", installation.FAIRSEQ]


def test_each_command_is_run_once_and_silently(capsys, pip):
    ran, _ = pip
    assert main(["setup", "--eval"]) == 0
    assert len(ran) == 4
    fairseq, evaluation = ran[:2]
    assert fairseq[1]["cwd"] == installation.FILES
    assert fairseq[1]["env"]["PIP_CONSTRAINT"] == "constraints.txt"
    assert evaluation[1]["cwd"] is None
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_pins_leave_what_is_installed(monkeypatch):
    pins = setup._pins_of_new_packages()
    names = {pin.partition("==")[0] for pin in pins}
    installed = {each.metadata["Name"].lower() for each in metadata.distributions()}
    assert not names & installed and "torch" not in names
    monkeypatch.setattr(metadata, "distributions", lambda: [])
    assert "torch==2.13.0" in setup._pins_of_new_packages()


def refused(capsys, *words):
    assert main(["setup", *words]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1
    return errors


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        ("compiler", "must be a C++ compiler, to compile fairseq; none is installed"),
        ("headers", "the headers of Python 3."),
        ("pip", "`pip` must be installed in this Python; it is not"),
    ],
)
def test_what_is_lacking_is_one_line(capsys, pip, monkeypatch, tmp_path, lacking, message):
    if lacking == "compiler":
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.delenv("CXX", raising=False)
    elif lacking == "headers":
        monkeypatch.setattr(setup.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    else:
        monkeypatch.setattr(setup, "find_spec", lambda name: None)
    assert message in refused(capsys)
    assert not pip[0]


def test_another_compiler_than_that_of_python(monkeypatch, tmp_path):
    (tmp_path / "clang++").write_text("#!/bin/sh\n")
    (tmp_path / "clang++").chmod(0o755)
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert setup.build_tools() == {"CC": "clang++", "CXX": "clang++"}


def test_an_index_that_is_not_there(capsys, pip):
    pip[1].update(
        code=1,
        stdout="WARNING: Retrying ...\nERROR: Could not find a version that satisfies the "
        "requirement fairseq==0.12.2 (from versions: none)\n"
        "ERROR: No matching distribution found for fairseq==0.12.2\n",
    )
    assert "`fairseq==0.12.2` must come from a package index; pip finds it in" in refused(capsys)


def test_a_failure_names_its_log(capsys, pip, monkeypatch, tmp_path):
    monkeypatch.setattr(setup.tempfile, "tempdir", str(tmp_path))
    pip[1].update(code=1, stdout="building\nERROR: Failed to build fairseq\n")
    error = refused(capsys)
    assert "it says ERROR: Failed to build fairseq (full output: " in error
    (log,) = tmp_path.glob("tdo-setup-*.log")
    assert str(log) in error and log.read_text() == pip[1]["stdout"]


def test_it_ends_with_what_is_wrong(capsys, monkeypatch):
    found = (
        '{"checks": [{"name": "a", "status": "ok", "detail": "1", "fix": ""},'
        ' {"name": "b", "status": "wrong", "detail": "is not installed", "fix": "pip install b"}]}'
    )
    done = subprocess.CompletedProcess([], 1, found, "")
    monkeypatch.setattr(subprocess, "run", lambda words, **options: done)
    assert setup._check() == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[1].endswith("fix it with: pip install b")
