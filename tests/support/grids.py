"""A small grid: two axes, four cells and one more, four trainings."""

import json
from pathlib import Path

BASE = "--lr 0.1\n--arch tdo_transformer\n--max-update 90\n"
AXES = {
    "task": {"lm": ["--task-of-source lm"], "ae": ["--task-of-source ae", "--shift 0"]},
    "weight": {"0": {"lines": ["--weight 0"], "drops": ["task"]}, "1": ["--weight 1"]},
}
CELLS = {"baseline": {"base": "other.conf", "lines": ["--lr 0.2"]}}


def write_grid(folder: Path, **changes: object) -> Path:
    """The grid's file, some keys replaced; None takes a key away."""
    folder.mkdir(exist_ok=True)
    (folder / "base.conf").write_text(BASE)
    (folder / "other.conf").write_text("--arch tdo_encoder_decoder\n")
    document = {"base": "base.conf", "axes": AXES, "cells": CELLS, **changes}
    kept = {key: value for key, value in document.items() if value is not None}
    (folder / "small.json").write_text(json.dumps(kept), encoding="utf-8")
    return folder / "small.json"
