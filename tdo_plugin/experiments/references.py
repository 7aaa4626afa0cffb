"""References: expressions for files of a run, such as ``{checkpoint:SYSTEM}``."""

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
    """``KIND.NAME:TARGET`` with TARGET filled in; NAME and TARGET are optional."""

    kind: str
    name: str
    target: str | None


def referred(expression: str, scope: Scope, known: Collection[str] = ()) -> Reference | None:
    """An expression as a reference, or None.

    Args:
        expression: the text between braces.
        scope: the variables; a variable with the name of a kind of reference hides it.
        known: kinds that variables do not hide.
    """
    match = REFERENCE.match(expression)
    if match is None:
        return None
    kind, name, target = match["kind"], match["name"], match["target"]
    if name is None and target is None and kind in scope and kind not in known:
        return None
    return Reference(kind, name or "", None if target is None else scope.text(target))
