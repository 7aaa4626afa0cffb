"""A grid's runner, with a program that stands for `tdo`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.grids import write_grid

from tdo_plugin.grid import running
from tdo_plugin.grid.cells import cells_of, runs_of
from tdo_plugin.grid.description import read_grid
from tdo_plugin.grid.folder import RunFolder, folders
from tdo_plugin.grid.running import Plan, deal, run_all

STAND_IN = Path(__file__).with_name("grid_stand_in.py")
ONE = ("baseline",)
ALL = ("baseline", "lm-0", "lm-1", "ae-1")


class Bench:
    """A grid, its runs' folder, and what the stand-in was asked to do."""

    def __init__(self, root: Path) -> None:
        self.root, self.said = root, list[str]()
        (root / "data").mkdir()
        (root / "data" / "prepared.json").write_text("{}")

    def folders(
        self, *names: str, behind: Sequence[str] | None = (), **changes: object
    ) -> list[RunFolder]:
        grid = read_grid(write_grid(self.root / "grid", **changes))
        runs = [run for run in runs_of(cells_of(grid)) if run.name in (names or ALL)]
        return folders(grid, runs, self.root / "out", self.root / "data", behind)

    def plan(self, workers: int = 1, **changes: Any) -> Plan:
        return Plan(
            **{"data": self.root / "data", "behind": (), "slots": deal(workers, 0, 1), **changes}
        )

    def run(self, runs: Sequence[RunFolder], plan: Plan | None = None) -> dict[str, str]:
        return run_all(runs, plan or self.plan(), self.said.append)

    def calls(self) -> list[dict]:
        path = self.root / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def made(self) -> list[str]:
        return [f"{call['action']} {call['name']}" for call in self.calls()]


def stand_in(root: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench in a folder, where the stand-in is called for `tdo`."""
    monkeypatch.setattr(running, "TDO", (sys.executable, "-S", str(STAND_IN)))
    monkeypatch.setenv("CALLS", str(root / "calls"))
    monkeypatch.setenv("GATE", str(root / "gate"))
    return Bench(root)


def cell(*lines: str) -> dict:
    return {"cells": {"baseline": {"lines": list(lines)}}}
