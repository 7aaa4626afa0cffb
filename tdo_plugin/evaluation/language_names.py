"""Languages and directions by their English names."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from tdo_plugin.metrics.language_id.codes import canonical


@cache
def _names() -> dict[str, str]:
    path = Path(__file__).with_name("language_names.json")  # the names of Unicode's CLDR
    names: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return names


def language_name(code: str) -> str:
    """`German` for `de`, `Portuguese (pt_BR)` for `pt_BR`; the code itself if it is unknown."""
    name = _names().get(canonical(code))
    if name is None:
        return code
    return name if code == canonical(code) else f"{name} ({code})"


def direction_name(direction: str) -> str:
    """`German → English` for `de-en`."""
    return " → ".join(map(language_name, direction.split("-")))
