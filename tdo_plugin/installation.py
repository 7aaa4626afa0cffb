"""How this package is installed, its data files, and commands that change its environment.

A clone has files beside the package (experiments, benchmarks, reference pages, tested versions). A
wheel carries the same files inside the package, laid out in the same way (`FILES`).
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path

from tdo_plugin import __version__

FAIRSEQ = "fairseq==0.12.2"
COMET = "unbabel-comet==2.2.7"

PACKAGE = Path(__file__).resolve().parent
CARRIED = PACKAGE / "files"  # only in a wheel; pyproject.toml says what is in it
FILES = CARRIED if CARRIED.is_dir() else PACKAGE.parent
CONSTRAINTS = FILES / "constraints.txt"

IMAGE = "TDO_IMAGE"  # variable that the Dockerfile sets to the device of the image, cpu or cuda
WHEEL, CLONE, DOCKER = "wheel", "clone", "Docker image"
MODULES = {"tdo": "tdo_plugin", "pip": "pip"}


def kind() -> str:
    """How the package is installed: `WHEEL`, `CLONE` (editable) or `DOCKER`."""
    if os.environ.get(IMAGE):
        return DOCKER
    return CLONE if PACKAGE.parent == FILES else WHEEL


def line(program: str, *words: str) -> str:
    """A command line for this Python's environment, as a shell reads it.

    Args:
        program: `tdo` or `pip`. It is called by name if the shell would find that of this
            environment, and otherwise as a module of this Python.
        words: its arguments.
    """
    here, found = Path(sys.executable).parent / program, shutil.which(program)
    same = found is not None and here.exists() and os.path.samefile(here, found)
    command = [program] if same else [sys.executable, "-m", MODULES[program]]
    return shlex.join([*command, *words])


def install_again() -> str:
    """The command line that installs this package again from its source."""
    if kind() == DOCKER:
        return build_image()
    if kind() == CLONE:
        return line("pip", "install", "-e", str(FILES))
    return line("pip", "install", "--force-reinstall", "--no-deps", _wheel())


def build_image(*, evaluation: bool = False) -> str:
    """The command line that builds the Docker image again, to be run in a clone."""
    words = ["docker", "build", "--build-arg", f"DEVICE={os.environ.get(IMAGE, 'cpu')}"]
    words += ["--build-arg", "EVAL=1"] if evaluation else []
    return shlex.join([*words, "--tag", "tdo_plugin", "."])


def _wheel() -> str:
    """The wheel's URL if pip has recorded one, else the name and version on an index."""
    try:
        recorded = metadata.distribution("tdo_plugin").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        recorded = None
    return json.loads(recorded)["url"] if recorded else f"tdo_plugin=={__version__}"
