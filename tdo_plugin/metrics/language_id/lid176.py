"""Where fastText's lid.176 lies, and how to get it."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from tdo_plugin.errors import UserError
from tdo_plugin.metrics.cache import default_cache_path

NAMES = ("lid.176.bin", "lid.176.ftz")  # the whole model, 126 MiB, and the compressed one, 1 MiB
URL = f"https://dl.fbaipublicfiles.com/fasttext/supervised-models/{NAMES[0]}"
SHA256 = "7e69ec5451bc261cc7844e49e4792a85d7f09c06789ec800fc4a44aec362764e"


def find_lid176(download: bool = False) -> Path:
    """The file where the package fasttext-langdetect keeps it, or in this project's cache.

    fasttext-langdetect is what the TDO paper used (section 5.1). It keeps the file in the folder
    FTLANG_CACHE, or without that variable in fasttext-langdetect among the temporary files.

    Args:
        download: fetch the whole model into this project's cache if there is none.

    Raises:
        UserError: no file, or it cannot be fetched.
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
        f"`--lid fasttext` must have {NAMES[0]} in {kept} or {project_cache}; it is in neither, "
        f"and comes from {URL} (tdo score --download fetches it)"
    )


def _fetch(path: Path) -> Path:
    """Download the whole model; it gets its name only when its checksum is right."""
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
    except OSError as error:  # of the connection or of the disk
        raise UserError(
            f"`--download` must be left out where {URL} cannot be fetched into {path.parent}; "
            f"it gave: {error}"
        ) from None
    finally:
        partial.unlink(missing_ok=True)
    return path
