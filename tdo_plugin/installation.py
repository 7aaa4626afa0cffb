"""How this package is installed, where its data files are, and commands to reinstall it.

In a clone, files such as experiments, benchmarks, reference pages and tested versions lie beside
the package. A wheel contains the same files inside the package, in the same layout (`FILES`).
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

from tdo_plugin import __version__

FAIRSEQ = "fairseq==0.12.2"
COMET = "unbabel-comet==2.2.7"
# what pip must get: of fairseq the source package, which is compiled, of COMET the wheel
DIGESTS = {
    FAIRSEQ: "sha256:34f1b18426bf3844714534162f065ab733e049597476daa35fffb4d06a92b524",
    COMET: "sha256:581df65c145d8710cf70bf6fac421a8799791ba318c236136e3d3321f3732dc6",
}

# Python runs the line of this file at each start, if it lies in site-packages. It does nothing once
# this package is gone.
STARTUP = "tdo_compat.pth"
STARTUP_LINE = (
    'import importlib.util; importlib.util.find_spec("tdo_compat") and '
    '__import__("tdo_compat.patches")\n'
)

PACKAGE = Path(__file__).resolve().parent
CARRIED = PACKAGE / "files"  # exists only in a wheel; pyproject.toml lists its content
FILES = CARRIED if CARRIED.is_dir() else PACKAGE.parent
CONSTRAINTS = FILES / "constraints.txt"

IMAGE = "TDO_IMAGE"  # variable that the Dockerfile sets to the image's device: cpu or cuda
WHEEL, CLONE, DOCKER = "wheel", "clone", "Docker image"
MODULES = {"tdo": "tdo_plugin", "pip": "pip"}


def kind() -> str:
    """Return how the package is installed: `WHEEL`, `CLONE` (editable) or `DOCKER`."""
    if os.environ.get(IMAGE):
        return DOCKER
    return CLONE if PACKAGE.parent == FILES else WHEEL


def startup_file() -> Path:
    """Return where `STARTUP` belongs: beside fairseq, which cannot be imported without it."""
    try:
        return Path(str(metadata.distribution(FAIRSEQ.partition("==")[0]).locate_file(STARTUP)))
    except metadata.PackageNotFoundError:  # where it was
        return Path(sysconfig.get_paths()["platlib"]) / STARTUP


def line(program: str, *words: str) -> str:
    """Return a shell command line that runs a program of this Python environment.

    Args:
        program: `tdo` or `pip`. The command line uses the bare name if the shell finds this
            environment's program by that name, and `python -m` otherwise.
        words: arguments of the program.
    """
    here, found = Path(sys.executable).parent / program, shutil.which(program)
    same = found is not None and here.exists() and os.path.samefile(here, found)
    command = [program] if same else [sys.executable, "-m", MODULES[program]]
    return shlex.join([*command, *words])


def install_again() -> str:
    """Return the command line that reinstalls this package from its source."""
    if kind() == DOCKER:
        return build_image()
    if kind() == CLONE:
        return line("pip", "install", "-e", str(FILES))
    return line("pip", "install", "--force-reinstall", "--no-deps", _wheel())


def build_image(*, evaluation: bool = False) -> str:
    """Return the command line that rebuilds the Docker image; it must be run in a clone."""
    words = ["docker", "build", "--build-arg", f"DEVICE={os.environ.get(IMAGE, 'cpu')}"]
    words += ["--build-arg", "EVAL=1"] if evaluation else []
    return shlex.join([*words, "--tag", "tdo_plugin", "."])


def _wheel() -> str:
    """Return the wheel's URL if pip recorded one, else the name and version for an index."""
    try:
        recorded = metadata.distribution("tdo_plugin").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        recorded = None
    return json.loads(recorded)["url"] if recorded else f"tdo_plugin=={__version__}"
