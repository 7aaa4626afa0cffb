"""Checks of a file that a command is to write, and the folder for it."""

from __future__ import annotations

from pathlib import Path

from tdo_plugin.errors import UserError


def check_output(output: Path, fresh: bool, option: str = "--out") -> None:
    """Raise UserError if `output` is a folder, or exists without `fresh`."""
    if output.is_dir():
        raise UserError(f"`{option}` must be a file; {output} is a folder")
    if output.exists() and not fresh:
        raise UserError(
            f"`{option}` must be new, or `--fresh` given to overwrite it; {output} already exists"
        )


def check_has_folder(output: Path | None, option: str) -> None:
    """Raise UserError if `output` is a folder, or its own folder does not exist; None is fine."""
    if output and (output.is_dir() or not output.absolute().parent.is_dir()):
        raise UserError(f"`{option}` must be a file in an existing folder; it is {output}")


def check_folder(out: Path, option: str = "--out") -> None:
    """Raise UserError if a folder to write to is, or is below, something else."""
    place = next(path for path in (out, *out.parents) if path.exists() or path == path.parent)
    if not place.is_dir():
        raise UserError(f"`{option}` must be a folder; {place} is a file")


def make_folder(output: Path, option: str = "--out") -> None:
    """Create the parent folder of an output file.

    Raises:
        UserError: the folder cannot be created.
    """
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"`{option}` must be writable; {error.filename}: {error.strerror}"
        ) from None
