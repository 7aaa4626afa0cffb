"""Where a model is: a file, or the folder of a training, of a system, or of a whole run.

A run of `tdo start` or `tdo reproduce` has a folder for each of its systems, with the training's
folder `checkpoints` and the tested average `average.pt`; `run.json` names the recommended system.
"""

from __future__ import annotations

import filecmp
import json
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError
from tdo_plugin.runtime.files import write_text
from tdo_plugin.typed import read_json

DEFAULT = "best-1"
AVERAGE, CHECKPOINTS = "average.pt", "checkpoints"  # in a system's folder
RUN = "run.json"  # in a run's folder
UNNAMED = "model"


def resolve(
    text: str,
    rule: str | None,
    say: Callable[[str], None],
    option: str = "--path",
    write: bool = True,
    default: str = DEFAULT,
) -> tuple[Path, ...]:
    """The files of `--path A[:B...]`; a folder becomes its average, one file.

    Args:
        text: paths separated by colons. A folder is that of a training, of a system, or of a run,
            which stands for its recommended system.
        rule: `best-5`, `last-5`, ...: which checkpoints of a folder to average. None: `default`,
            the newest checkpoint of a training without validation, or the average that an
            experiment made.
        say: called with a line about what was averaged.
        option: the option with the paths, for messages.
        write: whether to make a missing average.
        default: rule for the folder of a training.

    Raises:
        UserError: a missing file, a model given twice, a folder without enough checkpoints, or a
            missing average without `write`.
    """
    parts = text.split(":")
    if not all(parts):
        raise UserError(f"`{option}` must be checkpoints separated by colons; it is {text}")
    for path in map(Path, parts):
        if not (path.is_file() or path.is_dir()):
            raise UserError(f"`{option}` must name checkpoints that exist; {path} does not")
    found = tuple(
        _of_folder(Path(part), rule, default, say, option, write)
        if Path(part).is_dir()
        else Path(part).resolve()
        for part in parts
    )
    if any(one == other or filecmp.cmp(one, other, False) for one, other in combinations(found, 2)):
        raise UserError(f"`{option}` must name different models for an ensemble; it is {text}")
    return found


def resolve_one(
    text: str, rule: str | None, say: Callable[[str], None], option: str, write: bool = True
) -> Path:
    """As :func:`resolve`, for a single checkpoint or folder.

    Raises:
        UserError: as :func:`resolve`, or there are several.
    """
    if ":" in text:
        raise UserError(f"`{option}` must be one checkpoint or folder; it is {text}")
    (path,) = resolve(text, rule, say, option, write)
    return path


def check_rule(rule: str) -> tuple[str, int]:
    """Parse `best-5` or `last-5` into kind and number.

    Raises:
        UserError: the rule is neither.
    """
    kind, _, count = rule.partition("-")
    if kind not in ("best", "last") or not count.isdigit():
        raise UserError(f"`--average` must be best-N or last-N; it is {rule}")
    return kind, int(count)


def _of_folder(
    folder: Path,
    rule: str | None,
    default: str,
    say: Callable[[str], None],
    option: str,
    write: bool,
) -> Path:
    from tdo_plugin.checkpoints import best_of, last_of, newest_of, validated

    folder = system_of(folder, option)
    if rule is None and not _is_training(folder) and (folder / AVERAGE).is_file():
        say(f"{folder}: {AVERAGE}")
        return (folder / AVERAGE).resolve()
    folder = training_of(folder, option)
    if rule is None and default.startswith("best") and not validated(folder):
        newest = newest_of(folder)
        say(f"{folder}: {newest.name}, the newest, as none was validated")
        return newest.resolve()
    kind, count = check_rule(rule or default)
    try:
        chosen = (best_of if kind == "best" else last_of)(folder, count, "--average")
    except UserError:
        if rule:
            raise
        raise UserError(
            f"`{option}` must be a folder with {count} checkpoints to average, the protocol's "
            f"number; {folder} has fewer (--average {kind}-N averages N)"
        ) from None
    if len(chosen) == 1:
        say(f"{folder}: {chosen[0].name}")
        return chosen[0].resolve()
    return _averaged(folder, rule or default, chosen, say, write)


def training_of(folder: Path, option: str = "--path") -> Path:
    """The folder with the checkpoints of a training, given it, its system's or its run's folder.

    Raises:
        UserError: there is none, or the run has several systems.
    """
    folder = system_of(folder, option)
    if _is_training(folder):
        return folder
    if not _is_training(folder / CHECKPOINTS):
        raise UserError(
            f"`{option}` must be a folder with checkpoints; {folder} has {AVERAGE} only"
        )
    return folder / CHECKPOINTS


def system_of(folder: Path, option: str = "--path") -> Path:
    """The folder itself, or of a run's folder that of its recommended, or only, system.

    Raises:
        UserError: the folder has no model, or several and none is recommended.
    """
    if _is_system(folder):
        return folder
    systems = sorted(path for path in folder.iterdir() if path.is_dir() and _is_system(path))
    names = [path.name for path in systems]
    recommended = _recommended(folder)
    if recommended in names or len(names) == 1:
        return folder / (recommended if recommended in names else names[0])
    if names:
        raise UserError(f"`{option}` must be one model; {folder} has {', '.join(names)}")
    holds = ", ".join(sorted(path.name for path in folder.iterdir())[:10])
    found = f"has no checkpoint, only {holds}" if holds else "is empty"
    raise UserError(
        f"`{option}` must be a checkpoint, or the folder of a training or run; {folder} {found}"
    )


def name_of(path: Path, option: str = "--path") -> str:
    """What to call the model of a file or folder: the name of its system's or training's folder.

    Raises:
        UserError: as :func:`system_of`.
    """
    folder = (system_of(path, option) if path.is_dir() else path.parent).resolve()
    return (folder.parent if folder.name == CHECKPOINTS else folder).name or UNNAMED


def _is_system(folder: Path) -> bool:
    return (
        (folder / AVERAGE).is_file() or _is_training(folder) or _is_training(folder / CHECKPOINTS)
    )


def _is_training(folder: Path) -> bool:
    from tdo_plugin.checkpoints import is_checkpoint

    return folder.is_dir() and any(is_checkpoint(path.name) for path in folder.iterdir())


def write_run(run: Path, recommended: str) -> None:
    """Record the recommended system of a run."""
    run.mkdir(parents=True, exist_ok=True)
    write_text(run / RUN, [json.dumps({"recommended": recommended})])


def _recommended(run: Path) -> str:
    try:
        return str(read_json(run / RUN)["recommended"])
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _averaged(
    folder: Path, rule: str, chosen: Sequence[Path], say: Callable[[str], None], write: bool
) -> Path:
    from tdo_compat.checkpoint import save_whole
    from tdo_plugin.checkpoints import average, read

    output = folder / f"average-{rule}.pt"
    names = [path.name for path in chosen]
    if output.is_file() and output.stat().st_mtime >= max(p.stat().st_mtime for p in chosen):
        extra = read(output).get("extra_state") or {}
        if [checkpoint["name"] for checkpoint in extra.get("averaged", ())] == names:
            say(f"{output} is already the average of {', '.join(names)}")
            return output.resolve()
    if not write:
        raise UserError(
            f"`--path` must be a file with --dry-run, or a folder with {output.name}; {folder} has "
            "none (tdo average makes it)"
        )
    save_whole(average(chosen), str(output))
    say(f"{output}: average of {', '.join(names)}")
    return output.resolve()


def describe(path: Path) -> dict[str, Any]:
    """The description of a checkpoint for reports: updates, averaged checkpoints, training."""
    from tdo_plugin.checkpoints import describe as describe_state
    from tdo_plugin.checkpoints import read

    state = read(path, "--path")
    description = describe_state(path, state)
    extra = state.get("extra_state") or {}
    averaged = [checkpoint["name"] for checkpoint in extra.get("averaged", ())]
    return {
        "path": str(path),
        "updates": description.updates,
        **({"averaged": averaged} if averaged else {}),
        "training": state.get("made_by") or "not recorded in the checkpoint",
    }
