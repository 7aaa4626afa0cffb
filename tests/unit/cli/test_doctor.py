"""``tdo doctor``: every finding that is wrong comes with the line that fixes it."""

import json
import shlex
import sys
from importlib import metadata

import pytest
from pip._internal.commands import create_command
from support.commands import told
from support.covering import EVALUATION

from tdo_compat import registry
from tdo_plugin import __version__, installation
from tdo_plugin.cli import doctor, main, setup

AGAIN = "again"


def missing(name):
    raise metadata.PackageNotFoundError(name)


def fake_versions(monkeypatch, **versions):
    real = metadata.version

    def version(name):
        release = versions[name] if name in versions else real(name)
        return release or missing(name)

    monkeypatch.setattr(metadata, "version", version)


def test_here_all_is_well(capsys):
    report = json.loads(told(capsys, "doctor", "--json")[0])
    assert report["ok"]
    names = {check["name"] for check in report["checks"]}
    assert {"python", "fairseq", "torch", "numpy", "sentencepiece", "device"} <= names
    assert len(report["patches"]) == len(registry.PATCHES)
    assert {patch["status"] for patch in report["patches"]} <= {"applied", "not needed"}


@pytest.mark.parametrize(
    ("version", "xml", "status", "named"),
    [
        ((3, 12, 15), (2, 8, 2), "ok", "expat 2.8.2"),
        ((3, 14, 0), (2, 10, 0), "ok", ""),
        ((3, 12, 14), (2, 8, 2), "warn", "tarfile and zipfile of Python 3.12 below 3.12.15"),
        ((3, 10, 22), (2, 8, 1), "warn", "expat below 2.8.2"),
    ],
)
def test_known_faults_of_what_reads_archives_and_xml(version, xml, status, named):
    check = doctor.check_parsers(version, xml)
    assert check.status == status and named in check.detail


@pytest.mark.parametrize("version", [None, "0.12.3"])
def test_fairseq_missing_or_wrong(monkeypatch, capsys, version):
    fake_versions(monkeypatch, fairseq=version)
    lines = told(capsys, "doctor", code=1)[0].splitlines()
    marked = next(number for number, line in enumerate(lines) if line.startswith("wrong"))
    assert "fairseq" in lines[marked]
    assert lines[marked + 1].endswith(f"fix it with: {installation.line('tdo', 'setup')}")


def test_fairseq_without_a_package_that_it_imports(monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(doctor, "import_module", fail)
    (check,) = doctor.check_fairseq()
    assert (check.status, check.fix) == ("wrong", "") and "'torch'" in check.detail


def test_a_range_that_is_not_met(monkeypatch):
    fake_versions(monkeypatch, **{"omegaconf": "2.0.6", "hydra-core": None})
    check = doctor.check_requirement("omegaconf<2.4,>=2.3")
    fix = installation.line("pip", "install", "omegaconf<2.4,>=2.3")
    assert (check.status, check.fix) == ("wrong", fix)
    assert "2.0.6" in check.detail
    assert doctor.check_requirement("hydra-core<1.4").status == "wrong"


@EVALUATION
def test_an_evaluation_that_is_whole():
    assert doctor.check_evaluation().status == "ok"


@EVALUATION
@pytest.mark.parametrize(
    ("package", "version", "fault"),
    [
        ("unbabel-comet", None, "unbabel-comet is not installed"),
        ("mecab-ko", None, "mecab-ko is not installed"),
        ("transformers", "5.1.0", "transformers 5.1.0 is installed, it must be <5,>=4.57"),
    ],
)
def test_an_evaluation_that_is_not_whole_is_no_fault(monkeypatch, capsys, package, version, fault):
    fake_versions(monkeypatch, **{package: version})
    check = doctor.check_evaluation()
    assert (check.status, check.detail) == ("warn", f"incomplete: {fault}")
    assert check.fix == installation.line("tdo", "setup", "--eval")
    fake_versions(monkeypatch, **{package: version, "bert-score": None})
    assert doctor.check_evaluation().detail.endswith(" (and 1 more)")
    monkeypatch.setattr(doctor, "examine", lambda: [check])
    assert "all is well" in told(capsys, "doctor")[0]


def test_missing_extension_compiler_and_python(monkeypatch):
    monkeypatch.setitem(sys.modules, doctor.EXTENSIONS[0], None)
    checks = {check.name: check for check in doctor.check_fairseq()}
    assert checks[doctor.EXTENSIONS[0]].status == "wrong"
    assert checks[doctor.EXTENSIONS[0]].fix == installation.line("tdo", "setup")
    monkeypatch.setenv("PATH", "")
    assert doctor.check_compiler().status == "warn"
    for version, status in (((3, 9), "wrong"), ((3, 14), "wrong"), ((3, 13), "ok")):
        assert doctor.check_python(version).status == status
    monkeypatch.setattr(metadata, "requires", missing)
    assert doctor.check_requirements() == []


def test_a_start_up_without_the_pth(monkeypatch, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    check = doctor.check_patches()
    assert check.status == "wrong"
    assert check.fix == installation.line("tdo", "setup")


@pytest.mark.parametrize(
    ("version", "status"), [(None, "wrong"), ("0.0.1", "warn"), (__version__, "ok")]
)
def test_the_plugin_itself(monkeypatch, version, status):
    fake_versions(monkeypatch, tdo_plugin=version)
    check = doctor.check_plugin()
    assert check.status == status
    assert check.fix == ("" if status == "ok" else installation.install_again())
    assert str(installation.FILES) in check.detail


def faults(monkeypatch):
    """All that can be wrong, except for what Python itself is."""
    gone = dict.fromkeys(("tdo_plugin", "fairseq", "unbabel-comet", "omegaconf"))
    with monkeypatch.context() as patch:
        fake_versions(patch, **gone)
        patch.setattr(doctor, "check_patches", lambda: doctor.Check("p", "wrong", "", AGAIN))
        patch.setenv("PATH", "")
        return doctor.examine()


def in_a_wheel(monkeypatch):
    monkeypatch.setattr(installation, "FILES", installation.CARRIED)


def in_an_image(monkeypatch):
    in_a_wheel(monkeypatch)
    monkeypatch.setenv(installation.IMAGE, "cuda")


@pytest.mark.parametrize("kind", [None, in_a_wheel, in_an_image])
def test_each_line_is_a_command(monkeypatch, kind, capsys):
    """A line of `tdo` is run dryly; others are parsed by their programs' parsers."""
    monkeypatch.setattr(setup, "_works", lambda code: False)
    if kind:
        kind(monkeypatch)
    lines = {check.name: shlex.split(check.fix) for check in faults(monkeypatch) if check.fix}
    assert len(lines) >= 5
    for name, words in lines.items():
        if words[0] == "docker":
            assert kind is in_an_image
            assert words[1:4] == ["build", "--build-arg", "DEVICE=cuda"]
            assert words[-3:] == ["--tag", "tdo_plugin", "."]
            assert ("EVAL=1" in words) == (name == "evaluation")
            continue
        assert kind is not in_an_image
        if words in (["apt-get", "install", "g++"], [AGAIN]):
            continue
        if words[0] == sys.executable:
            del words[:2]
        program, command, *rest = words
        if program in ("tdo", "tdo_plugin"):
            assert command == "setup"
            assert main([command, *rest, "--dry-run"]) == 0
        else:
            assert program == "pip"
            options, arguments = create_command(command).parse_args(rest)
            assert arguments or options.editables


def test_where_the_plugin_comes_from(monkeypatch, tmp_path):
    assert installation.kind() == "clone"
    assert shlex.split(installation.install_again())[-2:] == ["-e", str(installation.FILES)]
    in_a_wheel(monkeypatch)
    recorded = {"url": f"file://{tmp_path}/tdo_plugin-1-py3-none-any.whl"}

    class Installed:
        def read_text(self, name):
            assert name == "direct_url.json"
            return json.dumps(recorded) if recorded else None

    monkeypatch.setattr(metadata, "distribution", lambda name: Installed())
    assert installation.kind() == "wheel"
    assert shlex.split(installation.install_again())[-1] == recorded["url"]
    recorded.clear()  # it came from an index
    assert shlex.split(installation.install_again())[-1] == f"tdo_plugin=={__version__}"


def test_a_program_is_named_where_the_shell_finds_it(monkeypatch, tmp_path):
    for folder in ("ours", "other"):
        (tmp_path / folder).mkdir()
        for name in ("tdo", "python"):
            (tmp_path / folder / name).write_text("#!/bin/sh\n")
            (tmp_path / folder / name).chmod(0o755)
    python = str(tmp_path / "ours" / "python")
    monkeypatch.setattr(sys, "executable", python)
    monkeypatch.setenv("PATH", str(tmp_path / "ours"))
    assert installation.line("tdo", "setup") == "tdo setup"
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    assert installation.line("tdo", "setup") == f"{python} -m tdo_plugin setup"
    assert installation.line("pip", "install", "a<2") == f"{python} -m pip install 'a<2'"
