"""Finding a neural metric's model: in a folder of the user, or in Hugging Face's cache.

Libraries only receive folders. Given a model's name, they send requests to the Hub, in some
versions even with an option to use only local files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from fnmatch import fnmatch
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from packaging.version import Version

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.segments import Unavailable

SAFE_TRANSFORMERS = Version("5.3.0")
SAFE = "*.safetensors"
WEIGHTS = (SAFE, "pytorch_model*.bin")
SLOW_TOKENIZER = ("vocab.txt", "vocab.json", "*.model")
FAST_TOKENIZER = ("tokenizer.json", *SLOW_TOKENIZER)
SMALL = ("*.json", "*.txt", "*.model")  # all files except weights

Needs = tuple[tuple[str, ...], ...]  # in each inner tuple, one pattern must match a file


def package_version(package: str) -> str:
    """The version of an installed package.

    Raises:
        Unavailable: the package is not installed.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise Unavailable(
            f"the package {package} is not installed; `tdo setup --eval` installs it"
        ) from None


def refuse_foreign_kernels() -> None:
    """Reject libraries that run code named in a model's configuration, through `kernels`.

    Raises:
        UserError: transformers below 5.3 (CVE-2026-4372) and the package kernels are installed.
    """
    version = package_version("transformers")
    if Version(version) < SAFE_TRANSFORMERS and find_spec("kernels") is not None:
        raise UserError(
            "neural metrics must not run with the package kernels and transformers below "
            f"{SAFE_TRANSFORMERS} (CVE-2026-4372: a model's folder could run code); transformers "
            f"is {version} (pip uninstall kernels)"
        )


def find_model(model: str, needs: Needs, option: str, download: bool) -> Path:
    """The folder of a model.

    Args:
        model: a folder, or a name on the Hugging Face Hub.
        needs: patterns of required files.
        option: the option that names the model, for messages.
        download: download missing files from the Hub. Without it, there are no network requests.

    Raises:
        UserError: neither a folder nor a valid name, or a folder without the files.
        Unavailable: the files are not installed, or cannot be downloaded.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if lacking := _lacking(folder, needs):
            raise UserError(f"`{option}` must be a folder with {lacking}; {model} has none")
        return folder.resolve()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        snapshot = Path(snapshot_download(model, local_files_only=True))
        if not _lacking(snapshot, needs):
            return snapshot
    except HFValidationError:
        raise UserError(
            f"`{option}` must be a folder or a model's name on the Hugging Face Hub; it is {model}"
        ) from None
    except OSError:
        pass
    if not download:
        raise Unavailable(f"{model} is not installed; --download downloads it")
    return _fetch(model, needs)


def _fetch(model: str, needs: Needs) -> Path:
    from huggingface_hub import list_repo_files, snapshot_download

    try:
        patterns = {*SMALL, *(pattern for choice in needs for pattern in choice)}
        if any(fnmatch(name, SAFE) for name in list_repo_files(model)):
            patterns -= {*WEIGHTS} - {SAFE}  # most models are available in both formats
        folder = Path(snapshot_download(model, allow_patterns=sorted(patterns)))
    except (OSError, ValueError) as error:  # network, the Hub's answer or disk
        raise Unavailable(f"{model} cannot be downloaded: {' '.join(str(error).split())}") from None
    if lacking := _lacking(folder, needs):
        raise Unavailable(f"{model} on the Hugging Face Hub has no {lacking}")
    return folder


def _lacking(folder: Path, needs: Needs) -> str:
    """The first need that no file meets, in words; empty if all are met."""
    return next(
        (
            " or ".join(choice)
            for choice in needs
            if not any(path.is_file() for pattern in choice for path in folder.glob(pattern))
        ),
        "",
    )


def identity(folder: Path, files: Iterable[Path]) -> str:
    """An identifier of a model's version: the Hub's revision, or a hash of its files."""
    if folder.parent.name == "snapshots":
        return f"revision:{folder.name[:8]}"
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return f"sha256:{digest.hexdigest()[:16]}"
