"""Archives as bytes, and the folder that holds every host's files under their addresses."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.layouts.sentences import Row, sentence


def text(lines: Iterable[str]) -> bytes:
    """Lines as UTF-8, each with its newline."""
    return "".join(f"{line}\n" for line in lines).encode()


def numbered(language: str, numbers: Iterable[int]) -> bytes:
    """Sentences of these numbers, one a line."""
    return text(sentence(language, number) for number in numbers)


def sides(prefix: str, pair: str, rows: Iterable[Row]) -> dict[str, bytes]:
    """Both sides of some rows, as PREFIX.LANGUAGE."""
    names = (f"{prefix}.{language}" for language in pair.split("-"))
    return dict(zip(names, map(text, zip(*rows, strict=True)), strict=True))


def zipped(content: bytes) -> bytes:
    """gzip."""
    return gzip.compress(content, mtime=0)


def tar(members: Mapping[str, bytes]) -> bytes:
    """A gzipped tar archive, folders before what is in them."""
    packed = io.BytesIO()
    parents = {str(parent) for name in members for parent in Path(name).parents}
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for folder in sorted(parents - {"."}):
            entry = tarfile.TarInfo(folder)
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return zipped(packed.getvalue())


def zip_archive(members: Mapping[str, bytes]) -> bytes:
    """A zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content)
    return packed.getvalue()


def put(web: Path, address: str, content: bytes) -> Path:
    """Lay content under its address, HOST/PATH, in the folder that the server has."""
    path = web / address
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
