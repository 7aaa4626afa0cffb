"""References: expressions that stand for files of a run, such as ``{checkpoint:SYSTEM}``."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from tdo_plugin.experiments.expressions import Scope

REFERENCE = re.compile(
    r"(?P<kind>data|text|folder|out|checkpoint|checkpoints|last|output|made|input|each|scores)"
    r"(?:\.(?P<name>[\w-]+))?(?::(?P<target>.*))?$",
    re.DOTALL,
)


class Reference(NamedTuple):
    """``KIND.NAME:TARGET``, the last two where they are there, TARGET filled in."""

    kind: str
    name: str
    target: str | None


def referred(expression: str, scope: Scope, known: Collection[str] = ()) -> Reference | None:
    """An expression as a reference; None where it is none.

    Args:
        expression: what stands between braces.
        scope: its names; a kind of reference that a file has given to something else is none.
        known: kinds that are references all the same.
    """
    match = REFERENCE.match(expression)
    if match is None:
        return None
    kind, name, target = match["kind"], match["name"], match["target"]
    if name is None and target is None and kind in scope and kind not in known:
        return None
    return Reference(kind, name or "", None if target is None else scope.text(target))
