"""`metrics.jsonl`: the values that a training logs, as numbers, a line each time."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Number
from pathlib import Path
from typing import Any

from tdo_plugin.analysis.curves import Curve
from tdo_plugin.typed import parse_json

FILE = "metrics.jsonl"
INNER, EPOCH = "train_inner", "train"  # fairseq's tags; others are names of validation sets
LOSSES = ("loss", "nll_loss")


def scalars(stats: Mapping[str, Any]) -> dict[str, float]:
    """The single numbers among the values that fairseq logs, without the number of updates."""
    values = {}
    for name, logged in stats.items():
        value = getattr(logged, "val", logged)  # of a meter, its latest
        if getattr(value, "numel", lambda: 0)() == 1:
            value = value.item()
        if isinstance(value, Number) and not isinstance(value, bool | complex):
            values[name] = float(value)  # type: ignore[arg-type]
    values.pop("num_updates", None)
    return values


def append(folder: Path, tag: str, update: int, values: Mapping[str, float]) -> None:
    """Add a line to the file; what is not finite is null there."""
    finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
    with (folder / FILE).open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps({"tag": tag, "update": update, **finite}) + "\n")


def read_losses(folder: Path) -> dict[str, Curve]:
    """By tag, the losses after each update; {} of a folder without the file.

    A training that resumes from an older checkpoint makes some updates again: a line replaces
    those of its tag from its update on. A line that a crash has cut is left out.

    Raises:
        OSError: the file cannot be read.
    """
    curves: dict[str, Curve] = {}
    path = folder / FILE
    if not path.exists():
        return curves
    with path.open(encoding="utf-8", errors="replace") as stream:
        for text in stream:
            try:
                line = parse_json(text)
                tag, update = str(line["tag"]), int(line["update"])
                losses = {name: float(line[name]) for name in LOSSES if line.get(name) is not None}
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
            curve = curves.setdefault(tag, {})
            while curve and next(reversed(curve)) >= update:
                curve.popitem()
            curve[update] = losses
    return curves
