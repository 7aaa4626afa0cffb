"""Loads checkpoints in torch's safe mode, and writes them atomically.

``file_patches`` installs these functions in fairseq.
"""

import argparse
import collections
import functools
import os
import pickle
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from typing import IO, Any

import numpy
import omegaconf
import torch
from omegaconf.errors import OmegaConfBaseException

from tdo_compat import hooks

TRUST = "TDO_TRUST_CHECKPOINT"
GROUP = (dict, argparse.Namespace, omegaconf.DictConfig)  # types of a checkpoint's settings
NAMES = {"task": ("_name", "task"), "model": ("_name", "arch")}  # settings that name its parts


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

    Args:
        source: path or binary file of the checkpoint.

    Raises:
        CheckpointError: one line that names the file, if it is incomplete, or contains classes
            outside the allow-list and ``TDO_TRUST_CHECKPOINT=1`` is not set.
    """
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
        raise CheckpointError(
            f"{path} is not a complete checkpoint: it is truncated or damaged"
        ) from error


def well_formed(upgrade: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap fairseq's function that upgrades old checkpoints, to handle any content.

    Args:
        upgrade: takes a checkpoint as read, returns it in the current form.

    Returns:
        the same function, which raises CheckpointError if the content is not a checkpoint.
    """

    @functools.wraps(upgrade)
    def checked(state: Any) -> Any:
        try:
            return upgrade(state)
        except (
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            OmegaConfBaseException,
        ) as error:
            raise CheckpointError(
                f"a checkpoint must have fairseq's format; this one does not "
                f"({type(error).__name__}: {error})"
            ) from error

    return checked


def with_form(state: Any, file: object) -> dict[str, Any]:
    """A checkpoint as read, after checking that its parts have the types that fairseq expects.

    Args:
        state: as read.
        file: its source, for messages.

    Raises:
        CheckpointError: one line on the first part with another type.
    """
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise CheckpointError(
            f"a checkpoint of fairseq must have a `model`, by names; {file} does not"
        )
    settings: Any = state.get("cfg")
    if settings is None and state.get("args") is None:
        raise CheckpointError(f"{file} must have settings, `cfg` or `args`; it has neither")
    _check_kind(file, "args", state.get("args"), (argparse.Namespace, type(None)))
    _check_kind(file, "cfg", settings, (*GROUP, type(None)))
    for part in ("task_state", "extra_state"):
        _check_kind(file, part, state.get(part, {}), (dict,))
    history = state.get("optimizer_history", [])
    if not isinstance(history, list) or not all(isinstance(part, dict) for part in history):
        raise CheckpointError(f"`optimizer_history` of {file} must be a list of groups; it is not")
    for part, names in NAMES.items() if state.get("args") is None else ():
        group = settings.get(part)
        _check_kind(file, part, group, GROUP)
        members = vars(group) if isinstance(group, argparse.Namespace) else group
        if not any(isinstance(members.get(name), str) for name in names):
            raise CheckpointError(f"`{part}` of {file} must have a name, `{names[0]}`; it has none")
    return state


def _check_kind(file: object, name: str, value: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(value, kinds):
        raise CheckpointError(
            f"`{name}` of {file} must be a group of settings; it is {type(value).__name__}"
        )


def write_whole(filename: str, write: Callable[[IO[bytes]], object]) -> None:
    """Call ``write(file)`` on a temporary file, then atomically rename it to ``filename``.

    Raises:
        CheckpointError: one line that names ``filename`` and the reason; nothing is left behind.
    """
    temporary = f"{filename}.tmp"
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
        write_whole(filename, lambda file: shutil.copyfileobj(opened, file, 2**20))
    return filename
