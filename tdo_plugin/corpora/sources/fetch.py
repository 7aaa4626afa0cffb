"""Archives: the user's file, the file in the cache, or a download."""

from __future__ import annotations

from collections.abc import Mapping
from os import environ
from pathlib import Path

from tdo_plugin.corpora.description.schema import Archive
from tdo_plugin.corpora.sources.cached import Say, cached, record_path, recorded
from tdo_plugin.corpora.sources.integrity import HEAD, Expected, difference, fingerprint, wrong_kind
from tdo_plugin.corpora.sources.links import LinkStatus, check
from tdo_plugin.corpora.sources.sourcefiles import SourceFile, files_of, whole_file
from tdo_plugin.errors import UserError

__all__ = ["LinkStatus", "accepted_names", "check", "default_cache", "fetch"]


def default_cache() -> Path:
    """$TDO_CACHE, or ~/.cache/tdo_plugin/corpora."""
    chosen = environ.get("TDO_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "tdo_plugin" / "corpora"


def accepted_names(archive: Archive) -> set[str]:
    """The names by which `fetch` finds a user's file: those of the archive and of its parts.

    Each may have its name here or that at the end of one of its addresses.
    """
    return {name for file in (whole_file(archive), *files_of(archive)) for name in file.names()}


def fetch(
    archive: Archive, cache: Path, user_files: Mapping[str, Path], say: Say
) -> tuple[Path, ...]:
    """The file of an archive, or its parts in order.

    Verified files are not downloaded again. If no checksum is known, the first download leaves a
    record in the cache, with which later ones must agree.

    Args:
        archive: see `Archive`.
        cache: folder for downloads.
        user_files: files of the user by name (see `accepted_names`); not changed.
        say: gets progress lines.

    Raises:
        UserError: no address has it (the message has the reasons), a user's file is wrong, or the
            cache cannot be written.
    """
    whole, files = whole_file(archive), files_of(archive)
    for file in (whole, *files):
        if file.name in ("", ".", "..") or "/" in file.name:
            raise UserError(f"`archives` must have file names; it has {file.name!r}")
    if archive.parts and _own(whole, user_files):
        files = [whole]
    paths = tuple(_fetch(file, cache, user_files, say) for file in files)
    if len(paths) > 1:
        _check_together(whole, paths)
    return paths


def _own(file: SourceFile, user_files: Mapping[str, Path]) -> Path | None:
    return next((user_files[name] for name in file.names() if name in user_files), None)


def _fetch(file: SourceFile, cache: Path, user_files: Mapping[str, Path], say: Say) -> Path:
    user_file = _own(file, user_files)
    if user_file:
        try:
            _take(file, user_file, recorded(record_path(file, cache)), say)
        except OSError as error:
            raise UserError(
                f"`--from-file` must be {file.name}; {user_file}: {error.strerror or error}"
            ) from None
        return user_file
    try:
        return cached(file, cache, say)
    except OSError as error:
        raise UserError(
            f"`--cache` must be a folder in which {file.name} can be written; "
            f"{error.filename or cache}: {error.strerror or error}"
        ) from None


def _take(file: SourceFile, user_file: Path, before: Expected, say: Say) -> None:
    """Check a user's file.

    Raises:
        UserError: it is not the known archive.
        OSError: it cannot be read.
    """
    with user_file.open("rb") as stream:
        wrong = wrong_kind(file.kind, stream.read(HEAD))
    actual = fingerprint([user_file], file.expected)
    wrong = wrong or difference(actual, file.expected)
    if wrong:
        raise UserError(f"`--from-file` must be {file.description()}; {user_file} is not: {wrong}")
    if not file.expected.proves_content():
        differs = before.sha256 not in (None, actual.sha256)
        note = "not the one downloaded before" if differs else "no checksum is known"
        say(f"{file.name}: {user_file}, {actual.bytes:,} bytes, SHA-256 {actual.sha256}, {note}")


def _check_together(whole: SourceFile, parts: tuple[Path, ...]) -> None:
    if whole.expected == Expected():
        return
    wrong = difference(fingerprint(parts, whole.expected), whole.expected)
    if wrong:
        raise UserError(
            f"`{whole.name}` must be its concatenated parts; {wrong} (delete wrong parts to "
            f"download them again: {', '.join(map(str, parts))})"
        )
