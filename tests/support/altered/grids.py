"""Grids, and what an altered one means."""

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from support.altered.configs import ABOUT, config_words, write_configs
from support.altered.outcomes import Said, Subject, tdo
from support.altered.values import altered_json, altered_lines
from support.made import made_once
from support.prepared import prepared


@made_once
def _grids(folder: Path) -> None:
    write_configs(folder)
    document = {
        "title": "A grid in small",
        "base": "system.conf",
        "axes": {
            "enters": {"M0": [], "M1": ["--tdo-target-layer 1"]},
            "instrucl": {
                "no": {"drops": ["scale"]},
                "yes": ["--criterion label_smoothed_cross_entropy_instrucl"],
            },
            "scale": {"sum": ["--instrucl-scale sum"], "per-token": ["--instrucl-scale per-token"]},
        },
        "cells": {"plain": {"base": "shared.conf", "lines": ["--arch transformer"], "row": "r"}},
        "directions": "all",
        "metrics": ["bleu", "ter"],
        "groups": ["zero-shot", "all"],
        "translate": ["--beam 4"],
        "score": ["--lid references"],
        "published": "tlm:9",
        "row": "{enters}, {scale}",
        "best": {"enters": {"published": "tlm:9", "row": "{enters}"}},
    }
    (folder / "grid.json").write_text(json.dumps(document))


def _list(folder: Path) -> Said:
    """What the grid comes to; configs of cells are not printed by a dry run, so they stand here."""
    from tdo_plugin.grid.cells import cells_of
    from tdo_plugin.grid.description import read_grid

    path = folder / "grid.json"
    data = prepared().root
    outcome = tdo(
        folder,
        ["grid", "list", path],
        ["grid", "run", path, data, "--out", folder / "out", "--cpu", "--dry-run"],
    )
    if outcome.code:
        return outcome
    grid = read_grid(path)
    cells = [[cell.name, cell.row, cell.config.words()] for cell in cells_of(grid)]
    stated = {key: getattr(grid, key) for key in STATED}
    return replace(outcome, output=json.dumps([outcome.output, cells, stated], default=vars))


STATED = ("title", "directions", "metrics", "groups", "mean_over", "measure", "published", "best")


def _grid_means(folder: Path, outcome: Said) -> bool:
    """Each cell has the flags of its values' lines behind those of its base, and its row."""
    document = json.loads((folder / "grid.json").read_text())
    _, cells, stated = json.loads(outcome.output)
    expected = []
    for name, cell in document.get("cells", {}).items():
        base = folder / cell.get("base", document["base"])
        expected.append([name, cell.get("row", name), _flat(base, cell.get("lines", ()))])
    axes = document["axes"]
    for chosen in itertools.product(*axes.values()):
        values = dict(zip(axes, chosen, strict=True))
        parts = {axis: axes[axis][name] for axis, name in values.items()}
        of = {
            axis: part if isinstance(part, dict) else {"lines": part}
            for axis, part in parts.items()
        }
        dropped = {axis for part in of.values() for axis in part.get("drops", ())}
        lines = [
            line
            for axis, part in of.items()
            if axis not in dropped
            for line in part.get("lines", ())
        ]
        row = document.get("row", "")
        for axis, name in values.items():
            row = row.replace(f"{{{axis}}}", name)
        name = "-".join(chosen)
        expected.append([name, row or name, _flat(folder / document["base"], lines)])
    expected_settings = {
        "title": "grid",
        "directions": "all",
        "metrics": ["bleu", "ter"],
        "groups": [],
        "measure": "test",
        "mean_over": None,
        "published": None,
        "best": {},
        **{key: document[key] for key in STATED if key in document},
    }
    return cells == expected and stated == expected_settings


def _flat(base: Path, lines: Sequence[str]) -> list[str]:
    flags = {flag: words for flag, words in config_words(base, lines).items() if flag not in ABOUT}
    return [word for flag, words in flags.items() for word in (flag, *words)]


GRIDS = Subject(
    "grid", _grids, {"grid.json": altered_json, "*.conf": altered_lines}, _list, _grid_means
)
