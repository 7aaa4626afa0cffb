"""What is in a folder, for tests that compare folders."""

from pathlib import Path


def files_of(folder: Path) -> dict[str, Path]:
    """All files below a folder, by their paths within it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in files}


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files below a folder."""
    return {name: path.read_bytes() for name, path in files_of(folder).items()}


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Bytes and times of all files but locks, which are the same if nothing was written."""
    return {
        name: (path.read_bytes(), path.stat().st_mtime_ns)
        for name, path in files_of(folder).items()
        if path.name != ".lock"
    }
