"""Cells of a grid, and which of them are one training."""

from pathlib import Path

import pytest
from support.grids import AXES, write_grid

from tdo_plugin.errors import UserError
from tdo_plugin.grid.cells import Cell, cells_of, chosen_runs, runs_of
from tdo_plugin.grid.description import read_grid


def cells(folder: Path, **changes: object) -> tuple[Cell, ...]:
    return cells_of(read_grid(write_grid(folder, **changes)))


def test_every_combination_is_a_cell_the_last_axis_changing_fastest(tmp_path: Path) -> None:
    grid = cells(tmp_path)
    assert [cell.name for cell in grid] == ["baseline", "lm-0", "lm-1", "ae-0", "ae-1"]
    assert grid[0].values == {} and grid[3].values == {"task": "ae", "weight": "0"}


def test_lines_stand_behind_the_base_s(tmp_path: Path) -> None:
    flags = {cell.name: cell.config.flags for cell in cells(tmp_path)}
    assert flags["baseline"] == {"--arch": ["tdo_encoder_decoder"], "--lr": ["0.2"]}
    common = {"--lr": ["0.1"], "--arch": ["tdo_transformer"], "--max-update": ["90"]}
    assert flags["ae-1"] == {
        **common,
        "--task-of-source": ["ae"],
        "--shift": ["0"],
        "--weight": ["1"],
    }
    later = {"axes": {"a": {"1": ["--lr 0.5", "gpus 4"]}, "b": {"1": ["--lr 0.7", "--lr 0.8"]}}}
    config = cells(tmp_path, **later)[-1].config
    assert (config.flags["--lr"], config.gpus) == (["0.8"], 4)


def test_a_further_cell_has_the_grid_s_base_unless_it_has_its_own(tmp_path: Path) -> None:
    cell = cells(tmp_path, cells={"plain": {}})[0]
    assert cell.config.flags["--arch"] == ["tdo_transformer"]


def test_lines_may_include_files_beside_the_grid(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more.conf").write_text("--shared 1\n")
    cell = cells(tmp_path / "sub", axes={"a": {"1": ["include more.conf"]}})[-1]
    assert cell.config.flags["--shared"] == ["1"]


def test_what_would_do_nothing_is_dropped_and_trained_once(tmp_path: Path) -> None:
    grid = cells(tmp_path)
    runs = runs_of(grid)
    assert [run.name for run in runs] == ["baseline", "lm-0", "lm-1", "ae-1"]
    assert runs[1].cells == ("lm-0", "ae-0")
    assert "--task-of-source" not in runs[1].config.flags
    without = {"axes": {**AXES, "weight": {"0": ["--weight 0"], "1": ["--weight 1"]}}}
    assert len(runs_of(cells(tmp_path, **without))) == 5


def test_equal_flags_are_one_training_in_whatever_order(tmp_path: Path) -> None:
    axes = {"a": {"x": ["--p 1", "--q 2"], "y": ["--q 2", "--p 1"], "z": ["--p 1", "--q 3"]}}
    runs = runs_of(cells(tmp_path, axes=axes, cells=None))
    assert [run.cells for run in runs] == [("x", "y"), ("z",)]


def test_other_data_or_machine_is_another_training(tmp_path: Path) -> None:
    axes = {"a": {"x": [], "y": ["gpus 2"], "z": ["directions en-*"], "w": ["precision fp16"]}}
    assert len(runs_of(cells(tmp_path, axes=axes, cells=None))) == 4


def test_the_paper_s_grid_has_28_trainings_and_a_baseline(tmp_path: Path) -> None:
    from tdo_plugin.evaluation import published

    axes = {
        "task": {"LM": ["--task lm"], "AE": ["--task ae"]},
        "mask": {"triangular": ["--mask causal"], "full": ["--mask prefix"]},
        "noise": {"no": [], "BERT": ["--noise 0.15"]},
        "schedule": {
            "0": {"lines": ["--weight 0"], "drops": ["task"]},
            "1": [],
            "lin": ["--schedule linear"],
            "exp": ["--schedule exponential"],
        },
    }
    row = "encoder-only, {task}, {mask} mask: {noise} noise, schedule {schedule}"
    more = {"cells": {"encoder-decoder": {}}, "published": "tlm:9", "row": row}
    grid = cells(tmp_path, axes=axes, **more)
    assert (len(grid), len(runs_of(grid))) == (33, 29)
    assert {cell.row for cell in grid} == {entry.name for entry in published.table("tlm:9").rows}


def test_rows_are_the_cells_unless_the_grid_names_them(tmp_path: Path) -> None:
    assert [cell.row for cell in cells(tmp_path)][:2] == ["baseline", "lm-0"]
    named = {"published": "tlm:9", "cells": {"x": {"row": "encoder-decoder"}}}
    assert cells(tmp_path, **named)[0].row == "encoder-decoder"


def test_some_runs(tmp_path: Path) -> None:
    runs = runs_of(cells(tmp_path))
    assert chosen_runs(runs, None, None) == runs
    assert [run.name for run in chosen_runs(runs, "ae-1, ae-0", None)] == ["lm-0", "ae-1"]
    assert [run.name for run in chosen_runs(runs, None, 3)] == ["ae-1"]
    with pytest.raises(UserError, match="`--task` must be from 0 to 3; it is 4"):
        chosen_runs(runs, None, 4)
    with pytest.raises(UserError, match="`--task` must be from 0 to 3; it is -1"):
        chosen_runs(runs, None, -1)
    with pytest.raises(UserError, match=r"`--only` must name cells .*; ae-2 is none"):
        chosen_runs(runs, "ae-1,ae-2", None)
