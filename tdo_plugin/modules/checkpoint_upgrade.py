"""Parameters of earlier versions' checkpoints under their present names."""

import re
from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")

# parts of a dotted name: what they were called, and are
RENAMED = {
    "stack.entry": "stack.bridge",
    "stack.exit": "stack.output_block",
    "between": "pre_ffn",
}
_OLD = re.compile(r"(?<![^.])(" + "|".join(map(re.escape, RENAMED)) + r")(?=\.)")


def upgraded(state: Mapping[str, Value]) -> dict[str, Value]:
    """A model's state by name, with the names of this version; present names stay as they are."""
    return {_OLD.sub(lambda old: RENAMED[old[1]], name): value for name, value in state.items()}
