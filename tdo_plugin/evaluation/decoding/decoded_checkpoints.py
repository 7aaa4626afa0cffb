"""The checkpoints to decode with: given files, or the average of a folder's checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tdo_plugin.errors import UserError


def resolve(
    text: str,
    rule: str,
    say: Callable[[str], None],
    option: str = "--path",
    write: bool = True,
) -> tuple[Path, ...]:
    """The files of `--path A[:B...]`; a folder becomes its average, one file.

    Args:
        text: paths separated by colons.
        rule: `best-5`, `last-5`, ...: which checkpoints of a folder to average.
        say: called with a line about what was averaged.
        option: the option with the paths, for messages.
        write: whether to make a missing average.

    Raises:
        UserError: a missing file, a folder without enough checkpoints, or a missing average
            without `write`.
    """
    parts = text.split(":")
    if not all(parts):
        raise UserError(f"`{option}` must be checkpoints separated by colons; it is {text}")
    for path in map(Path, parts):
        if not (path.is_file() or path.is_dir()):
            raise UserError(f"`{option}` must name checkpoints that exist; {path} does not")
    return tuple(
        _of_folder(Path(part), rule, say, write) if Path(part).is_dir() else Path(part).resolve()
        for part in parts
    )


def resolve_one(
    text: str, rule: str, say: Callable[[str], None], option: str, write: bool = True
) -> Path:
    """As :func:`resolve`, for a single checkpoint or folder.

    Raises:
        UserError: as :func:`resolve`, or there are several.
    """
    path, *others = resolve(text, rule, say, option, write)
    if others:
        raise UserError(f"`{option}` must be one checkpoint or folder; it is {text}")
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


def _of_folder(folder: Path, rule: str, say: Callable[[str], None], write: bool) -> Path:
    from tdo_compat.checkpoint import save_whole
    from tdo_plugin.checkpoints import average, best_of, last_of, read

    kind, count = check_rule(rule)
    chosen = (best_of if kind == "best" else last_of)(folder, count, "--average")
    if len(chosen) == 1:
        say(f"{folder}: {chosen[0].name}")
        return chosen[0].resolve()
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
