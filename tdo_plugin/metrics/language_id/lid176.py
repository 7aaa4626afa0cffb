"""Finding and downloading fastText's lid.176."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.cache import default_cache_path

NAMES = ("lid.176.bin", "lid.176.ftz")  # the full model, 126 MiB, and the compressed model, 1 MiB
URL = f"https://dl.fbaipublicfiles.com/fasttext/supervised-models/{NAMES[0]}"
SHA256 = "7e69ec5451bc261cc7844e49e4792a85d7f09c06789ec800fc4a44aec362764e"


def find_lid176(download: bool = False) -> Path:
    """The model file in the folder of fasttext-langdetect, or in this project's cache.

    The TDO paper used fasttext-langdetect (section 5.1), whose folder is FTLANG_CACHE, or
    fasttext-langdetect among the temporary files if that variable is not set.

    Args:
        download: download the full model to this project's cache if there is no file.

    Raises:
        UserError: no file, or it cannot be downloaded.
    """
    kept = os.environ.get("FTLANG_CACHE") or Path(tempfile.gettempdir()) / "fasttext-langdetect"
    project_cache = default_cache_path().parent
    for name in NAMES:
        for folder in (Path(kept), project_cache):
            if (folder / name).is_file():
                return folder / name
    if download:
        return _fetch(project_cache / NAMES[0])
    raise UserError(
        f"`--lid fasttext` requires {NAMES[0]} in {kept} or {project_cache}; it is in neither "
        f"(tdo score --download downloads it from {URL})"
    )


def _fetch(path: Path) -> Path:
    """Download the full model, and rename it when its checksum is verified."""
    partial = path.with_name(path.name + ".partial")
    digest = hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(URL, timeout=60) as answer, partial.open("wb") as stream:
            while block := answer.read(1 << 20):
                digest.update(block)
                stream.write(block)
        if digest.hexdigest() != SHA256:
            raise UserError(
                f"`{NAMES[0]}` must have the SHA-256 {SHA256}; {URL} gave {digest.hexdigest()}"
            )
        os.replace(partial, path)
    except OSError as error:  # network or disk
        raise UserError(
            f"`--download` must be left out if {URL} cannot be downloaded to {path.parent}; "
            f"it failed: {error}"
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return path
