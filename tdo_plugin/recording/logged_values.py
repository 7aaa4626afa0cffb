"""`metrics.jsonl`: the numbers that a training run logs, one JSON line per log entry."""

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
INNER, EPOCH = "train_inner", "train"  # fairseq's tags; other tags are names of validation sets
LOSSES = ("loss", "nll_loss")
SPEED = "wps"  # fairseq's name of target tokens per second, of all workers


def scalars(stats: Mapping[str, Any]) -> dict[str, float]:
    """Select the scalar values that fairseq logs, except the number of updates."""
    values = {}
    for name, logged in stats.items():
        value = getattr(logged, "val", logged)  # latest value of a meter
        if getattr(value, "numel", lambda: 0)() == 1:
            value = value.item()
        if isinstance(value, Number) and not isinstance(value, bool | complex):
            values[name] = float(value)  # type: ignore[arg-type]
    values.pop("num_updates", None)
    return values


def append(folder: Path, tag: str, update: int, values: Mapping[str, float]) -> None:
    """Append a line to the file; infinite values and NaN become null."""
    finite = {name: value if math.isfinite(value) else None for name, value in values.items()}
    with (folder / FILE).open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(json.dumps({"tag": tag, "update": update, **finite}) + "\n")


def read_losses(folder: Path) -> dict[str, Curve]:
    """Read losses and speeds by tag and update; {} if the folder has no such file.

    A training that resumes from an older checkpoint repeats some updates: each line replaces
    earlier lines of its tag from its update on. A line truncated by a crash is skipped.

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
                names = (*LOSSES, SPEED)
                values = {name: float(line[name]) for name in names if line.get(name) is not None}
            except (ValueError, TypeError, KeyError, AttributeError):
                continue
            curve = curves.setdefault(tag, {})
            while curve and next(reversed(curve)) >= update:
                curve.popitem()
            curve[update] = values
    return curves
