"""A grid's file: read as it is, and every mistake one line."""

from pathlib import Path

import pytest
from support.grids import AXES, write_grid

from tdo_plugin.errors import UserError
from tdo_plugin.grid.cells import cells_of, runs_of
from tdo_plugin.grid.description import Further, Value, read_grid
from tdo_plugin.launch.training_config import read_config


def test_what_stands_in_a_grid(tmp_path: Path) -> None:
    grid = read_grid(
        write_grid(
            tmp_path,
            title="A title",
            note="Ours.",
            directions="supervised",
            metrics=["ter", "bleu"],
            groups=["all"],
            translate=["--beam 5  # a remark", "--average last-3"],
            score=["--tokenizer '13a'"],
            published="tlm:9",
            row="{task} {weight}",
        )
    )
    assert (grid.title, grid.note) == ("A title", "Ours.")
    assert grid.base == tmp_path / "base.conf"
    assert grid.axes["weight"] == {
        "0": Value(("--weight 0",), ("task",)),
        "1": Value(("--weight 1",)),
    }
    assert list(grid.axes) == ["task", "weight"] and list(grid.axes["task"]) == ["lm", "ae"]
    assert grid.cells == {"baseline": Further(tmp_path / "other.conf", ("--lr 0.2",))}
    assert grid.translate == ("--beam", "5", "--average", "last-3")
    assert grid.score == ("--tokenizer", "13a")
    assert (grid.directions, grid.metrics, grid.groups) == ("supervised", ("ter", "bleu"), ("all",))
    assert (grid.published, grid.row) == ("tlm:9", "{task} {weight}")


def test_what_may_be_absent(tmp_path: Path) -> None:
    grid = read_grid(write_grid(tmp_path, cells=None))
    assert (grid.title, grid.note) == ("small", "")
    assert (grid.cells, grid.translate, grid.score) == ({}, (), ())
    assert (grid.directions, grid.metrics, grid.published) == ("all", ("bleu", "ter"), None)


def axis(**values: object) -> dict:
    return {"axes": {**AXES, "third": values}}


def best(axis: str, table: str, row: str) -> dict:
    return {"best": {axis: {"published": table, "row": row}}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base": None}, "it has 1: base must be given"),
        ({"base": ["base.conf"]}, "base must be text; it is"),
        ({"axis": {}}, "axis is no known key"),
        ({"axes": {}}, "axes must have at least one axis"),
        ({"axes": []}, "axes must be an object"),
        (axis(), "axes.third must have at least one value"),
        (axis(a="--x 1"), "axes.third.a must be an object"),
        (axis(a=["--x '1"]), r"axes.third.a\[0\] must be text as of a line of a config"),
        (axis(a=["--x 1\n--y 2"]), r"axes.third.a\[0\] must be text as of a line of a config"),
        (axis(a=[""]), r"axes.third.a\[0\] must be text as of a line of a config"),
        (axis(a={"lines": []}), "axes.third.a.drops must be given"),
        (axis(a={"drops": []}), "axes.third.a.drops must be a list of at least 1"),
        (axis(a={"drops": ["tasks"]}), "drops must be other axes .task, weight.; it has tasks"),
        (axis(a={"drops": ["third"]}), "drops must be other axes .task, weight.; it has third"),
        (
            {"axes": {"one": {"a": {"drops": ["two"]}}}},
            r"axes.one.a.drops must be other axes \(there is none\); it has two",
        ),
        ({"axes": {"a b": {"1": []}}}, "the key a b of axes must be a name of letters"),
        ({"axes": {"run": {"1": []}}}, "the key run of axes must be none of cell, run"),
        (axis(**{"a/b": []}), "the key a/b of axes.third must be a name of letters"),
        ({"cells": {"x": {"flags": []}}}, "cells.x.flags is no known key"),
        ({"cells": {"..": {}}}, r"the key .. of cells must be a name"),
        ({"metrics": []}, "metrics must be a list of at least 1"),
        ({"metrics": ["blue"]}, "must be one of bleu, chrf, ter"),
        ({"translate": ["--out x"]}, "translate must go without --out, which tdo grid sets"),
        ({"score": ["--metrics=bleu"]}, "score must go without --metrics, which tdo grid sets"),
        ({"mean_over": "seed"}, r"mean_over must be one of several axes \(task, weight\); it has"),
        (
            {"axes": {"task": AXES["task"]}, "mean_over": "task"},
            r"mean_over must be one of several axes \(task\); it has task",
        ),
        (
            {"mean_over": "task", **best("task", "tlm:2", "{task}")},
            "best must be left out where mean",
        ),
        ({"measure": "validation", "published": "tlm:9"}, "published must be left out where meas"),
        ({"measure": "training"}, "measure must be one of test, validation"),
        (
            {"measure": "validation", "translate": ["--beam 4"]},
            "translate must be left out where measure is validation",
        ),
        ({"row": "{task}"}, "row must come with published"),
        ({"cells": {"x": {"row": "y"}}}, "cells.x.row must come with published"),
        ({"published": "tlm:9", "row": "{mask}"}, "placeholders than axes; it has {mask}"),
        (best("mask", "tlm:3", "{mask}"), r"best must be of axes \(task, weight\); it has mask"),
        (best("task", "tlm:2", "{weight}"), r"best.task.row must have the placeholder {task} and"),
        (best("task", "tlm:2", "LM"), r"best.task.row must have the placeholder {task} and"),
        (best("task", "tlm:77", "{task}"), "`--published` must be one of tlm:2"),
        ({"best": {"task": {"row": "{task}"}}}, "best.task.published must be given"),
        ({"published": "tlm:77"}, "`--published` must be one of tlm:2"),
        ({"published": "no:1"}, "`--published` must name one of tdo"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_mistake_is_one_line(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read_grid(write_grid(tmp_path, **changes))
    assert "\n" not in str(error.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"`small.json` must .* it has 2: .*axis is.*; base must"):
        read_grid(write_grid(tmp_path, base=None, axis={}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"`small.json` must be JSON; it is not \("),
        ("[]", "it has 1: it must be an object"),
        ('{"base": "a", "axes": {"x": {"1": [], "1": []}}}', "name everything once; 1 is twice"),
        ('{"base": "a", "axes": {"x": {"1": []}, "x": {"1": []}}}', "everything once; x is twice"),
    ],
)
def test_what_is_no_grid(tmp_path: Path, text: str, message: str) -> None:
    path = write_grid(tmp_path)
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_grid(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"`GRID` must be a file; opening .*none.json gave: No"):
        read_grid(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"base": "none.conf"},
            "`small.json` base must name a config file; .*none.conf is not one",
        ),
        ({"cells": {"x": {"base": "none.conf"}}}, "cells.x must name a config file"),
        (
            {"cells": {"x": {"lines": ["lr 1"]}}},
            "cells.x must be a --flag, include FILE, .* is lr 1",
        ),
        (axis(a=["x 1"]), "`small.json` axes.third.a must be a --flag, include FILE, .* is x 1"),
        (axis(a=["gpus none"]), "`gpus` must be a whole number above 0; it is none"),
        (axis(a=["include none.conf"]), "`include` in small.json must be an existing file"),
        (axis(a=["include small.json"]), "must not lead back .*small.json → small.json does"),
        ({"cells": {"LM-1": {}}}, "by which all cells differ; LM-1 and lm-1 do not"),
        ({"cells": {"Scores.json": {}}}, "no cell that is called as a file of the results"),
        (
            {"axes": {"x": {"a-b": [], "a": []}, "y": {"c": [], "b-c": []}}},
            "by which all cells differ; a-b-c and a-b-c do not",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_mistakes_that_cells_show(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        cells_of(read_grid(write_grid(tmp_path, **changes)))
    assert "\n" not in str(error.value)


def test_the_guide_shows_the_grid_of_the_quickstart(root: Path) -> None:
    text = (root / "configs" / "quickstart" / "grid.json").read_text(encoding="utf-8")
    assert text in (root / "docs" / "grid.md").read_text(encoding="utf-8")


def test_every_grid_of_configs_comes_to_trainings(root: Path) -> None:
    grids = {path: cells_of(read_grid(path)) for path in (root / "configs").rglob("*.json")}
    assert all("--arch" in cell.config.flags for cells in grids.values() for cell in cells)
    assert len(runs_of(grids[root / "configs" / "quickstart" / "grid.json"])) == 9


def test_the_grids_of_tpdm_s_adversary_are_alike_and_have_what_the_tables_train(
    root: Path,
) -> None:
    folder = root / "configs" / "tpdm-tables"
    toy, multi30k = (
        {cell.name: cell for cell in cells_of(read_grid(folder / "adversary" / f"{name}.json"))}
        for name in ("toy", "multi30k")
    )
    assert list(toy) == list(multi30k)
    assert len(runs_of(list(toy.values()))) == len(runs_of(list(multi30k.values()))) == 52
    small = read_config(folder / "scales" / "adversary.conf").flags
    for cells in (toy, multi30k):
        flags = cells["d0.1-p1-5-steps-half-way-semantic"].config.flags
        assert {flag: flags[flag] for flag in small} == small
        updates, start, warmup = (
            int(flags[flag][0])
            for flag in ("--max-update", "--tpdm-disentangle-start", "--tpdm-disentangle-warmup")
        )
        assert (start, warmup) == (updates // 2, updates // 6)  # as scripts/tables/tpdm/scales.sh
        printed = cells["d1-p1-1-step-first-update-both"].config.flags  # the paper's form
        assert {flag for flag in flags if flags[flag] != printed.get(flag)} == {
            *small,
            "--tpdm-disentangle-start",
            "--tpdm-disentangle-warmup",
        }
        assert all(cell.config.flags["--eval-translation"] == ["all"] for cell in cells.values())
