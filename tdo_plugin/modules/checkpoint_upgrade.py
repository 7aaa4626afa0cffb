"""Renames parameters in checkpoints of earlier versions."""

import re
from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")

# components of a dotted name: old to new
RENAMED = {
    "stack.entry": "stack.bridge",
    "stack.exit": "stack.output_block",
    "between": "pre_ffn",
}
_OLD = re.compile(r"(?<![^.])(" + "|".join(map(re.escape, RENAMED)) + r")(?=\.)")


def upgraded(state: Mapping[str, Value]) -> dict[str, Value]:
    """A state dict with this version's parameter names; names that are current stay unchanged."""
    return {_OLD.sub(lambda old: RENAMED[old[1]], name): value for name, value in state.items()}
