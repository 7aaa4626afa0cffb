"""What `tdo curve updates` and `tdo curve losses` share: named lines, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdo_plugin.errors import UserError
from tdo_plugin.names import check_titles

if TYPE_CHECKING:
    from tdo_plugin.analysis.curves import Curve


def named_paths(lines: Sequence[str], what: str) -> dict[str, list[Path]]:
    """The paths of each `NAME=PATH[:PATH]`, by name.

    Args:
        lines: arguments of the command.
        what: the arguments' name in messages, such as `NAME=FILE`.

    Raises:
        UserError: an argument has another form, or a name occurs twice.
    """
    by_name: dict[str, list[Path]] = {}
    for text in lines:
        name, mark, paths = text.partition("=")
        if not (name and mark and paths):
            raise UserError(f"`{what}` must have a name and a path; it is {text}")
        if name in by_name:
            raise UserError(f"`{what}` must name each line once; {name} occurs twice")
        check_titles([name], f"`{what}`")
        by_name[name] = [Path(path) for path in paths.split(":")]
    return by_name


def curve_table(
    curves: Mapping[str, Curve], metrics: Sequence[str], names: Mapping[str, str], digits: int
) -> str:
    """A row for each line and update; `-` stands for a value that is not finite.

    Args:
        curves: by name of the line.
        metrics: the columns.
        names: of the columns, by metric.
        digits: decimal places.
    """
    width = max(len("training"), *map(len, curves))
    rows = ["  ".join([f"{'training':{width}}", " updates", *(names[key] for key in metrics)])]
    for name, curve in curves.items():
        for update, values in curve.items():
            shown = (f"{values[key]:.{digits}f}" if key in values else "-" for key in metrics)
            cells = (f"{text:>{len(names[key])}}" for key, text in zip(metrics, shown, strict=True))
            rows.append("  ".join([f"{name:{width}}", f"{update:8d}", *cells]))
    return "\n".join(rows)
