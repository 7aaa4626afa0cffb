"""``tdo setup``: what it would run, what it runs, and what it says when that fails."""

import contextlib
import subprocess
import sys
import zipfile
from hashlib import sha256
from importlib import metadata

import pytest
from support.commands import shown_commands, told
from support.covering import EVALUATION

from tdo_plugin import installation
from tdo_plugin.cli import doctor, setup
from tdo_plugin.errors import UserError


@pytest.fixture
def nothing_installed(monkeypatch):
    """As in a new environment, whose pip says what a test wants."""
    monkeypatch.setattr(setup, "_works", lambda code: False)
    monkeypatch.setattr(doctor, "is_pinned", lambda requirement: False)
    lacks = [doctor.Check(name, "warn", "") for name in ("bert-score", "unbabel-comet")]
    monkeypatch.setattr(doctor, "missing_of_evaluation", lambda: lacks)
    monkeypatch.setattr(setup, "_check", lambda: 0)
    monkeypatch.setattr(setup, "_write_startup", lambda: None)


@pytest.fixture
def pip(monkeypatch, nothing_installed):
    """Commands that were run, and what the next ones print and return."""
    ran, result = [], {"stdout": "", "code": 0}

    def run(words, **options):
        ran.append((words, options))
        return subprocess.CompletedProcess(words, result["code"], result["stdout"])

    monkeypatch.setattr(subprocess, "run", run)
    return ran, result


def test_a_dry_run_says_all_commands(capsys, nothing_installed):
    printed, _ = told(capsys, "setup", "--eval", "--dry-run")
    assert printed.splitlines()[-1] == "set-up: tdo_compat.pth beside fairseq"
    folder, fairseq, evaluation, comet, check = shown_commands(printed)
    assert folder == ["cd", str(installation.FILES)]
    python = fairseq.index(sys.executable)
    source = f"{installation.FAIRSEQ} --hash={installation.DIGESTS[installation.FAIRSEQ]}"
    assert fairseq[:4] == ["echo", source, "|", "env"]
    pins = {"PIP_CONSTRAINT=constraints.txt", "PIP_BUILD_CONSTRAINT=constraints.txt"}
    assert pins <= {*fairseq[4:python]}
    install = ["-m", "pip", "install", "--no-deps", "-r", "/dev/stdin"]
    assert fairseq[python + 1 :] == install
    assert {"bert-score<0.4,>=0.3.13", "scipy>=1.10"} <= {*evaluation[6:]}
    assert not any("tdo_plugin" in word for word in evaluation[6:])
    assert comet[1].startswith(f"{installation.COMET} --hash=sha256:")
    assert comet[4:] == install
    assert check[1:] == ["-W", "ignore", "-c", setup.EVAL_CHECK]


@pytest.mark.full
@EVALUATION
def test_the_check_of_the_evaluation_passes():
    words = [sys.executable, "-W", "ignore", "-c", setup.EVAL_CHECK]
    subprocess.run(words, check=True, capture_output=True)


@EVALUATION
def test_what_is_there_stays(capsys, monkeypatch):
    monkeypatch.setattr(setup, "_check", lambda: 0)
    assert told(capsys, "setup", "--eval")[0].splitlines() == [
        f"set-up: {installation.FAIRSEQ} is installed",
        f"set-up: the evaluation is installed, with {installation.COMET}",
    ]


def test_comet_alone_is_missing_after_the_extra(capsys, nothing_installed, monkeypatch):
    lacks = [doctor.check_requirement("unbabel-comet==0")]
    monkeypatch.setattr(doctor, "missing_of_evaluation", lambda: lacks)
    _, _, comet, check = shown_commands(told(capsys, "setup", "--eval", "--dry-run")[0])
    assert comet[1].startswith(installation.COMET) and check[-1] == setup.EVAL_CHECK


def test_a_broken_fairseq_is_compiled_anew(capsys, nothing_installed, monkeypatch):
    monkeypatch.setattr(doctor, "is_pinned", lambda requirement: True)
    _, words = shown_commands(told(capsys, "setup", "--dry-run")[0])
    assert words[-4:] == ["--force-reinstall", "--no-cache-dir", "-r", "/dev/stdin"]


def test_each_command_is_run_once_and_silently(capsys, pip):
    ran, _ = pip
    printed, _ = told(capsys, "setup", "--eval")
    (_, fairseq), (_, evaluation), *more = ran
    assert fairseq["cwd"] == installation.FILES and evaluation["cwd"] is None
    assert fairseq["env"]["PIP_CONSTRAINT"] == "constraints.txt"
    assert fairseq["input"].startswith(f"{installation.FAIRSEQ} --hash=")
    assert len(more) == 2 and len(printed.splitlines()) == 4


def test_a_file_with_another_digest_is_not_installed(monkeypatch, tmp_path):
    wheel, site = tmp_path / "toy-1-py3-none-any.whl", tmp_path / "site"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("toy.py", "")
        archive.writestr(
            "toy-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1\n"
        )
        archive.writestr(
            "toy-1.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("toy-1.dist-info/RECORD", "toy.py,,\n")
    monkeypatch.setattr(setup.tempfile, "tempdir", str(tmp_path))
    options = ("--no-index", "--find-links", str(tmp_path), "--target", str(site))
    for digest, fits in (("0" * 64, False), (sha256(wheel.read_bytes()).hexdigest(), True)):
        monkeypatch.setitem(setup.DIGESTS, "toy==1", f"sha256:{digest}")
        expected = contextlib.nullcontext() if fits else pytest.raises(UserError, match="HASHES")
        with expected:
            setup._do(setup._checked("toy==1", "toy", options))
        assert (site / "toy.py").is_file() == fits


@pytest.fixture
def beside_fairseq(monkeypatch, tmp_path):
    path = tmp_path / installation.STARTUP
    monkeypatch.setattr(setup, "startup_file", lambda: path)
    return path


def test_the_file_that_loads_the_patches(capsys, monkeypatch, beside_fairseq, refused):
    """It is written once and said, works, does nothing without the package, and can be removed."""
    monkeypatch.setattr(setup, "_fairseq", list)
    monkeypatch.setattr(setup, "_check", lambda: 0)
    assert str(beside_fairseq) in told(capsys, "setup")[0]
    assert told(capsys, "setup")[0] == ""
    site = [sys.executable, "-S", "-c"]
    add = f"import site, sys; site.addsitedir({str(beside_fairseq.parent)!r}); "
    shown = "print('tdo_compat.patches' in sys.modules)"
    for path, loaded in ((str(installation.PACKAGE.parent), "True"), ("", "False")):
        code = f"import sys; sys.path.insert(0, {path!r}); {add}{shown}"
        done = subprocess.run(
            [*site, code], capture_output=True, text=True, cwd="/", check=True, env={}
        )
        assert (done.stdout.split(), done.stderr) == ([loaded], "")
    refused("setup", "--remove", "--eval", names="--eval")
    assert told(capsys, "setup", "--remove", "--dry-run")[0] == f"+ rm {beside_fairseq}\n"
    assert told(capsys, "setup", "--remove")[0] == f"set-up: {beside_fairseq} is removed\n"
    assert not beside_fairseq.exists()
    refused("setup", "--remove", names="tdo_compat.pth", case="nothing to remove")


def test_pins_leave_what_is_installed(monkeypatch):
    pins = setup._pins_of_new_packages()
    names = {pin.partition("==")[0] for pin in pins}
    installed = {each.metadata["Name"].lower() for each in metadata.distributions()}
    assert not names & installed and "torch" not in names
    monkeypatch.setattr(metadata, "distributions", lambda: [])
    assert "torch==2.13.0" in setup._pins_of_new_packages()


def test_another_compiler_than_that_of_python(monkeypatch, tmp_path):
    (tmp_path / "clang++").write_text("#!/bin/sh\n")
    (tmp_path / "clang++").chmod(0o755)
    for name in ("CC", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert setup.build_tools() == {"CC": "clang++", "CXX": "clang++"}


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


def test_what_is_refused(refused, pip, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        patch.delenv("CXX", raising=False)
        refused("setup", names="C++ compiler", case="no compiler")
    with monkeypatch.context() as patch:
        patch.setattr(setup.sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
        with pytest.raises(UserError, match=r"the headers of Python 3\."):
            setup.build_tools()
    with monkeypatch.context() as patch:
        patch.setattr(setup, "find_spec", lambda name: None)
        patch.setattr(sys, "executable", "python")
        refused("setup", names="pip", case="no pip")
    ran, result = pip
    assert not ran
    result.update(
        code=1,
        stdout="ERROR: Could not find a version that satisfies the requirement fairseq==0.12.2 "
        "(from versions: none)\nERROR: No matching distribution found for fairseq==0.12.2\n",
    )
    refused("setup", names="fairseq==0.12.2", case="no index")


def test_a_failure_names_its_log(capsys, pip, monkeypatch, tmp_path):
    monkeypatch.setattr(setup.tempfile, "tempdir", str(tmp_path))
    pip[1].update(code=1, stdout="building\nERROR: Failed to build fairseq\n")
    (error,) = told(capsys, "setup", code=2)[1].splitlines()
    (log,) = tmp_path.glob("tdo-setup-*.log")
    assert f"it says ERROR: Failed to build fairseq (full output: {log}" in error
    assert log.read_text() == pip[1]["stdout"]
