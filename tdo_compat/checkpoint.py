"""Loads checkpoints in torch's safe mode, and writes them atomically.

``file_patches`` installs these functions in fairseq.
"""

import argparse
import collections
import contextlib
import os
import pickle
import re
import shlex
import shutil
import socket
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy
import omegaconf
import torch

from tdo_compat import hooks
from tdo_compat.errors import one_line

TRUST = "TDO_TRUST_CHECKPOINT"
LAST = r"checkpoint_last(.*)\.pt"  # file name of a training's last checkpoint
BLOCK = 1 << 20  # bytes read at a time
# How Python reports values of another form than a function expects.
WRONG = (
    ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError,
    TypeError, ValueError,
)  # fmt: skip


class CheckpointError(RuntimeError):
    """A checkpoint that cannot be read or written. Shown as one line, without a traceback."""

    one_line = True


def _allowed_globals() -> list[Any]:
    """(object, dotted name) of everything in fairseq's checkpoints except tensors."""
    core = getattr(numpy, "_core", None) or numpy.core
    classes: list[Any] = [argparse.Namespace, collections.defaultdict]
    classes += [dict, list, tuple, set, int, float, bool, str, bytes, numpy.dtype, numpy.ndarray]
    classes += [type(numpy.dtype(code)) for code in "?bBhHiIlLqQefdSU"]
    classes += [omegaconf.DictConfig, omegaconf.ListConfig]
    classes += [omegaconf.base.Metadata, omegaconf.base.ContainerMetadata]
    classes += [getattr(omegaconf, name) for name in vars(omegaconf) if name.endswith("Node")]
    pairs = [(kind, f"{kind.__module__}.{kind.__qualname__}") for kind in classes]
    pairs.append((Any, "typing.Any"))
    broadcast = sys.modules.get("fairseq.distributed.utils")
    if broadcast is not None:  # stands for a tensor while rank 0 sends a checkpoint to others
        name = "_TensorPlaceholder"
        pairs.append((getattr(broadcast, name), f"{broadcast.__name__}.{name}"))
    for home in ("numpy.core.multiarray", "numpy._core.multiarray"):
        pairs.append((core.multiarray.scalar, f"{home}.scalar"))
        pairs.append((core.multiarray._reconstruct, f"{home}._reconstruct"))
    return pairs


def safe_load(source: str | IO[bytes], map_location: Any = None, **options: Any) -> Any:
    """``torch.load`` of a fairseq checkpoint in torch's safe mode, with any torch version.

    torch itself does not compare a file with the checksums that it has.

    Args:
        source: path or binary file of the checkpoint.

    Raises:
        CheckpointError: one line that names the file, if it is incomplete or changed, or contains
            classes outside the allow-list and ``TDO_TRUST_CHECKPOINT=1`` is not set.
    """
    if not as_written(source):
        raise _damaged(source)
    state = _load(source, map_location, **options)
    if options.get("mmap") and not _has_all(str(source), state):
        raise _damaged(source)
    return state


@contextlib.contextmanager
def blaming(path: object) -> Iterator[None]:
    """Name a checkpoint if using it fails in the way of values of another form than expected.

    Raises:
        CheckpointError: one line, for an exception that would be a traceback.
    """
    try:
        yield
    except (*WRONG, omegaconf.errors.OmegaConfBaseException) as error:
        if one_line(type(error), error) is not None:
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise CheckpointError(
            f"{path} must be a whole checkpoint of fairseq; using it gave {reason}"
        ) from error


def _has_all(path: str, state: Any) -> bool:
    """Whether a file that is mapped has the values of all tensors, which torch does not look at."""
    with zipfile.ZipFile(path) as archive:
        there = sum(part.file_size for part in archive.infolist() if "/data/" in part.filename)
    storages: dict[int, int] = {}
    waiting, seen = [state], set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_meta:
            storage = value.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
    return sum(storages.values()) <= there


def _load(source: str | IO[bytes], map_location: Any = None, **options: Any) -> Any:
    if isinstance(source, (str, os.PathLike)) and not _is_unicode(os.fspath(source)):
        with open(source, "rb") as file:  # which cannot be mapped
            return _load(file, map_location, **{**options, "mmap": None})
    trusted = os.environ.get(TRUST) == "1"
    options["weights_only"] = not trusted
    try:
        with torch.serialization.safe_globals(_allowed_globals()):
            return torch.load(source, map_location=map_location, **options)
    except (FileNotFoundError, IsADirectoryError, PermissionError, MemoryError):
        raise
    except Exception as error:
        path = getattr(source, "name", source)
        refused = re.search(r"GLOBAL ([\w.]+)|got <class '([\w.]+)'", str(error))
        if isinstance(error, pickle.UnpicklingError) and refused and not trusted:
            raise CheckpointError(
                f"{path} contains {refused[1] or refused[2]}, which torch's safe mode does not "
                f"load; if you trust the source of the file, set {TRUST}=1"
            ) from error
        raise _damaged(source) from error


def _is_unicode(path: str) -> bool:
    """Whether torch can open a path; Python in an ASCII locale has others for accented letters."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_written(source: str | IO[bytes]) -> bool:
    """Whether the parts of a file of ``torch.save`` have the checksums that it states for them.

    Files in the form before torch 1.6 have none, and torch can be told to write 0 instead.
    """
    if isinstance(source, (str, os.PathLike)):
        if not zipfile.is_zipfile(source):
            return True
        with open(source, "rb") as file:
            return _parts_as_written(file)
    start = source.tell()
    try:
        return not zipfile.is_zipfile(source) or _parts_as_written(source)
    finally:
        source.seek(start)


def _parts_as_written(file: IO[bytes]) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
            # torch stores parts as they are, so that nothing expands
            if any(part.compress_type for part in parts):
                return False
            if sum(part.file_size for part in parts) > file.seek(0, os.SEEK_END):
                return False
            for part in parts:
                if part.CRC:
                    with archive.open(part) as opened:
                        while opened.read(BLOCK):
                            pass
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError):
        return False
    return True


def _damaged(source: Any) -> CheckpointError:
    path = str(getattr(source, "name", source))
    message = f"{path} is not a complete checkpoint: it is truncated or damaged"
    instead = instead_of(path) if re.fullmatch(LAST, os.path.basename(path)) else ""
    return CheckpointError(message + f"; {instead}" * bool(instead))


def instead_of(last: str) -> str:
    """What can take the place of a training's last checkpoint: a clause for the end of a message.

    Args:
        last: its path.

    Returns:
        The clause; empty if there is no other checkpoint.
    """
    folder, name = os.path.split(last)
    suffix = re.fullmatch(LAST, name)[1]  # type: ignore[index]
    updates: dict[str, int] = {}
    candidates = others(folder, suffix)
    for path in candidates:
        try:
            state = _load(path, "cpu", mmap=zipfile.is_zipfile(path) or None)
            updates[path] = int(state["optimizer_history"][-1]["num_updates"])
        except (CheckpointError, OSError, LookupError, TypeError, ValueError):
            continue
    newest = sorted(
        updates,
        key=lambda path: (updates[path], "best" not in os.path.basename(path)),
        reverse=True,
    )
    intact = next((path for path in newest if as_written(path)), None)
    if intact is None:
        return f"no other checkpoint in {folder or '.'} is intact" if candidates else ""
    return (
        f"the newest intact one is {intact}, of update {updates[intact]} "
        f"(`{shlex.join(['cp', intact, last])}` puts it in its place)"
    )


def others(folder: str, suffix: str = "") -> list[str]:
    """The checkpoints of a training in a folder, except its last.

    Args:
        folder: of the training; it may be missing.
        suffix: of their names, for a part of a sharded model.
    """
    names = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
    ours = re.compile(rf"checkpoint(\d+|_\d+_\d+|_best|\.best_\w+_-?[\d.]+){re.escape(suffix)}\.pt")
    return [os.path.join(folder, name) for name in names if ours.fullmatch(name)]


def own_name(filename: str) -> str:
    """A name for a file that this process is writing, beside its final name.

    What killed processes of this machine left under such names is removed.
    """
    folder, name = os.path.split(filename)
    mark = f"{name}.{socket.gethostname()}"
    left = re.compile(rf"{re.escape(mark)}\.(\d+)\.tmp")
    for other in os.listdir(folder or ".") if os.path.isdir(folder or ".") else ():
        match = left.fullmatch(other)
        if match and not _runs(int(match[1])):
            with contextlib.suppress(OSError):  # another process removes it too
                os.remove(os.path.join(folder, other))
    return os.path.join(folder, f"{mark}.{os.getpid()}.tmp")


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True


def write_whole(filename: str, write: Callable[[IO[bytes]], object]) -> None:
    """Call ``write(file)`` on a temporary file, then atomically rename it to ``filename``.

    Raises:
        CheckpointError: one line that names ``filename`` and the reason; nothing is left behind.
    """
    temporary = own_name(filename)
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, filename)
    except (OSError, RuntimeError) as error:
        cause = error if isinstance(error, OSError) else error.__context__ or error
        reason = getattr(cause, "strerror", None) or str(error).partition("\n")[0]
        raise CheckpointError(
            f"could not write {filename}: {reason}; an existing file of that name is unchanged"
        ) from error
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def signed(state: Any) -> Any:
    """A model's checkpoint with a record of the command that made it (see :mod:`.hooks`)."""
    if not isinstance(state, dict) or "model" not in state or "made_by" in state:
        return state
    return {**state, "made_by": hooks.note_of_command(command_line())}


def command_line() -> str:
    """The command of this process, as a shell reads it; `python -m` a fairseq's command by name."""
    folder, name = os.path.split(sys.argv[0])
    if os.path.basename(folder) == "fairseq_cli":
        name = f"fairseq-{name.removesuffix('.py')}"
    return shlex.join([name, *sys.argv[1:]])


def save_whole(obj: object, filename: str) -> None:
    """``torch.save`` that leaves ``filename`` unchanged, or complete."""
    write_whole(filename, lambda file: torch.save(obj, file))


def copy_whole(source: str, filename: str) -> str:
    """Copy a file such that ``filename`` is unchanged, or complete; returns ``filename``."""
    with open(source, "rb") as opened:
        write_whole(filename, lambda file: shutil.copyfileobj(opened, file, BLOCK))
    return filename
