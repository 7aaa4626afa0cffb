"""A wheel alone, in a clean environment and an empty folder, does what a clone does.

The wheel is built, and installed with all that it requires from the package index that pip is set
to use. Everything after that runs without the clone, in an empty home folder.
"""

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from support.configs import ROOT
from support.fork_server import PYTHON
from support.processes import finished, heard

from tdo_plugin import __version__

pytestmark = pytest.mark.full
SYSTEM = "quickstart/tdo-instrucl"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this project, which comes out of the source distribution's files alone."""
    folder = tmp_path_factory.mktemp("dist")
    reached = finished([PYTHON, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "wheel"])
    if reached.returncode:
        pytest.skip(f"no package index: {reached.stderr.strip().splitlines()[-1]}")
    heard(finished([PYTHON, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT]))
    (built,) = folder.glob(f"tdo_plugin-{__version__}-*.whl")
    return built


@pytest.fixture(scope="module")
def tdo(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """``tdo(words, code=0)``: what the command of a clean environment says in an empty folder."""
    root = tmp_path_factory.mktemp("clean")
    environment, home, empty = root / "environment", root / "home", root / "empty"
    heard(finished([PYTHON, "-m", "venv", environment]))
    python = environment / "bin" / "python"
    pins = ROOT / "constraints.txt"
    install = [python, "-m", "pip", "install", "-q", "-c", pins]
    if torch := os.environ.get("TDO_TORCH"):  # as for scripts/setup.sh
        heard(finished([*install, *torch.split()]))
    heard(finished([*install, wheel]))
    home.mkdir()
    empty.mkdir()
    kept = ("PIP_", "LANG", "LC_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy")
    variables = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    variables |= {"HOME": str(home), "OMP_NUM_THREADS": "1"}
    variables["PATH"] = f"{environment / 'bin'}:/usr/bin:/bin"

    def run(*words: object, code: int = 0, program: str = "tdo") -> str:
        command = [environment / "bin" / program, *words]
        return heard(finished(command, cwd=empty, env=variables), code)

    return run


def wrong(tdo: Callable[..., str]) -> dict[str, str]:
    """What `tdo doctor` finds wrong, each with the line that mends it."""
    words = ("-m", "tdo_plugin", "doctor", "--json")
    process = tdo(*words, program="python", code=1)
    return {
        check["name"]: check["fix"]
        for check in json.loads(process)["checks"]
        if check["status"] == "wrong"
    }


def test_from_nothing_to_a_report(tdo: Callable[..., str]) -> None:
    assert wrong(tdo) == {"fairseq": "tdo setup", "patches at start-up": "tdo setup"}
    first, written, last = tdo("setup").splitlines()
    assert (first, last) == (
        "set-up: fairseq==0.12.2 (compiles for half a minute)",
        "set-up: done",
    )
    assert "/site-packages/tdo_compat.pth: " in written
    assert tdo("setup").splitlines() == [
        "set-up: fairseq==0.12.2 is installed",
        "set-up: done",
    ]
    found = tdo("doctor")
    assert "(wheel, files in " in found and "all is well" in found
    assert f"tdo_plugin {__version__}\n" in tdo("--version")
    tdo("corpus", "--out", "text", "--langs", "en,de,fr", "--train", 300, "--valid", 10)
    tdo("preprocess", "text", "data", "--vocab-size", 400)
    tdo("train", SYSTEM, "data", "--cpu", "--max-update", 4, "--save-dir", "model")
    words = ("--path", "model/checkpoint_last.pt", "--out", "translated", "--cpu")
    tdo("translate", "data", *words)
    tdo("score", "tdo=translated", "--data", "data", "--out", "scores")
    tdo("report", "scores/scores.json", "--out", "report")
    page = tdo("-c", "print(open('report/index.html').read())", program="python")
    assert "</html>" in page and "fr-de" in page
    made = tdo("reproduce", "quickstart", "quickstart", "--scale", "smoke")
    assert "quickstart-smoke/report/index.html" in made


def test_files_that_a_wheel_carries(tdo: Callable[..., str]) -> None:
    """Every experiment is there, the benchmarks are, and pages that describe formats."""
    code = (
        "from tdo_plugin.installation import FILES; from tdo_plugin.experiments import library; "
        "print(FILES, *library.names())"
    )
    folder, *names = tdo("-c", code, program="python").split()
    assert sorted(names) == sorted(
        path.stem for path in (ROOT / "configs" / "experiments").glob("*.toml")
    )
    for page in ("docs/reproduce/experiments.md", "docs/reference/model-options.md"):
        assert (Path(folder) / page).read_text() == (ROOT / page).read_text()
    assert (Path(folder) / "benchmarks" / "speed" / "command.py").is_file()
    code = "from tdo_plugin.serve.page import page; print(page())"
    assert "</html>" in tdo("-c", code, program="python")
    assert "python benchmarks/disentangling.py" in tdo("reproduce", "tpdm", "--dry-run")


def test_lines_of_the_doctor_mend_a_wheel(tdo: Callable[..., str]) -> None:
    """Each thing is broken, named, and mended by the line that `tdo doctor` prints."""
    tdo("setup")
    for package in ("fairseq", "tqdm"):
        tdo("uninstall", "-q", "-y", package, program="pip")
        fixes = wrong(tdo)
        assert package in fixes
        program, *words = shlex.split(fixes[package])
        tdo(*words, program=program)
        assert "all is well" in tdo("doctor")
