"""``tdo doctor``: every finding that is wrong comes with the line that fixes it."""

import json
import sys
from argparse import Namespace
from importlib import metadata

import pytest

from tdo_compat import registry
from tdo_plugin.cli import doctor


def fake_versions(monkeypatch, **versions):
    real = metadata.version

    def version(name):
        release = versions[name] if name in versions else real(name)
        if release is None:
            raise metadata.PackageNotFoundError(name)
        return release

    monkeypatch.setattr(metadata, "version", version)


def test_here_all_is_well(capsys):
    assert doctor.run(Namespace(json=True)) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"]
    names = {check["name"] for check in report["checks"]}
    assert {"python", "fairseq", "torch", "numpy", "sentencepiece", "device"} <= names
    (evaluation,) = (check for check in report["checks"] if check["name"] == "evaluation")
    assert evaluation["status"] == "ok"  # the tests' set-up installs it
    assert len(report["patches"]) == len(registry.PATCHES)
    assert {patch["status"] for patch in report["patches"]} <= {"applied", "not needed"}


@pytest.mark.parametrize("version", [None, "0.12.3"])
def test_fairseq_missing_or_wrong(monkeypatch, capsys, version):
    fake_versions(monkeypatch, fairseq=version)
    assert doctor.run(Namespace(json=False)) == 1
    lines = capsys.readouterr().out.splitlines()
    marked = next(number for number, line in enumerate(lines) if line.startswith("wrong"))
    assert "fairseq" in lines[marked]
    assert lines[marked + 1].endswith("fix it with: pip install --no-deps fairseq==0.12.2")


def test_a_range_that_is_not_met(monkeypatch):
    fake_versions(monkeypatch, **{"omegaconf": "2.0.6", "hydra-core": None})
    check = doctor.check_requirement("omegaconf<2.4,>=2.3")
    assert (check.status, check.fix) == ("wrong", 'pip install "omegaconf<2.4,>=2.3"')
    assert "2.0.6" in check.detail
    assert doctor.check_requirement("hydra-core<1.4").status == "wrong"


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
    assert (check.status, check.detail) == ("warn", f"not whole: {fault}")
    assert '[eval]" && pip install --no-deps unbabel-comet==2.2.7' in check.fix
    fake_versions(monkeypatch, **{package: version, "bert-score": None})
    assert doctor.check_evaluation().detail.endswith(" (and 1 more)")
    monkeypatch.setattr(doctor, "examine", lambda: [check])
    assert doctor.run(Namespace(json=False)) == 0
    assert "all is well" in capsys.readouterr().out


def test_python_outside_the_range():
    assert doctor.check_python((3, 9)).status == "wrong"
    assert doctor.check_python((3, 14)).status == "wrong"
    assert doctor.check_python((3, 13)).status == "ok"


def test_missing_extension_and_compiler(monkeypatch):
    monkeypatch.setitem(sys.modules, doctor.EXTENSIONS[0], None)
    checks = {check.name: check for check in doctor.check_fairseq()}
    assert checks[doctor.EXTENSIONS[0]].status == "wrong"
    assert "--no-deps fairseq==0.12.2" in checks[doctor.EXTENSIONS[0]].fix
    monkeypatch.setenv("PATH", "")
    assert doctor.check_compiler().status == "warn"


def test_a_start_up_without_the_pth(monkeypatch, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    check = doctor.check_patches()
    assert check.status == "wrong"
    assert check.fix.startswith("pip install -e ")


def test_without_an_installed_plugin(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    (check,) = doctor.check_requirements()
    assert check.fix.startswith("pip install -e ")
