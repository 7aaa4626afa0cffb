"""What cells come to: scores, the paper's figures, the best for each value, tables and files."""

import csv
import json
from pathlib import Path

import pytest
from support.grids import write_grid

from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.report.quantities import Quantity
from tdo_plugin.evaluation.report.text_tables import terminal
from tdo_plugin.evaluation.score_sheet import DirectionScores, ScoreSheet, SystemScores
from tdo_plugin.grid.cells import cells_of, runs_of
from tdo_plugin.grid.description import read_grid
from tdo_plugin.grid.folder import TRAINED, TRANSLATED
from tdo_plugin.grid.grid_tables import all_cells, best_by, means_over, tables_of, write
from tdo_plugin.grid.results import Printed, Results, gather, quantities

BLEU, TER = Quantity("bleu", "de-en"), Quantity("ter", "de-en")
SCORES = {"baseline": (34.9, 44.5), "lm-0": (33.0, 46.0), "ae-1": (34.04, 44.0)}
NAMES = {"row": "encoder-only, {task}", "published": "tlm:2"}
AXES = {
    "task": {"LM": ["--t lm"], "AE": ["--t ae"]},
    "weight": {"0": {"lines": ["--w 0"], "drops": ["task"]}, "1": ["--w 1"]},
}


def sheet(
    scores: dict[str, tuple[float, ...]], directions: tuple[str, ...] = ("de-en",)
) -> ScoreSheet:
    systems = [
        SystemScores(
            name,
            tuple(
                DirectionScores(direction, 2, dict(zip(("bleu", "ter"), values, strict=True)))
                for direction in directions
            ),
        )
        for name, values in scores.items()
    ]
    groups = {"en → X": directions[:1], "zero-shot": directions[1:], "all": directions}
    shown = groups if len(directions) > 1 else {"de → X": directions}
    return ScoreSheet(tuple(systems), directions, shown, ("bleu", "ter"))


def results(
    folder: Path, scores: dict = SCORES, table: str | None = None, **changes: object
) -> Results:
    grid = read_grid(write_grid(folder, **changes))
    cells = cells_of(grid)
    runs = runs_of(cells)
    return gather(
        grid,
        cells,
        {cell: run.name for run in runs for cell in run.cells},
        {run.name: TRANSLATED if run.name in scores else TRAINED for run in runs},
        {run.name: 36_900_000 if run.name in scores else None for run in runs},
        sheet(scores),
        table,
    )


def test_every_cell_is_there_and_shares_its_run_s_scores(tmp_path: Path) -> None:
    by_name = {result.cell.name: result for result in results(tmp_path).cells}
    assert list(by_name) == ["baseline", "lm-0", "lm-1", "ae-0", "ae-1"]
    assert by_name["ae-0"].run == "lm-0" and by_name["ae-0"].score(BLEU) == 33.0
    assert by_name["lm-1"].score(BLEU) is None and by_name["lm-1"].state == TRAINED
    assert by_name["ae-1"].scores == {BLEU: 34.04, TER: 44.0}


def test_the_best_of_each_value_is_by_the_first_metric(tmp_path: Path) -> None:
    grid_results = results(tmp_path)
    best = {choice.value: choice for choice in grid_results.best("task")}
    assert best["lm"].result and best["lm"].result.cell.name == "lm-0"
    assert (best["lm"].scored, best["lm"].of) == (1, 2)
    assert best["ae"].result and best["ae"].result.cell.name == "ae-1"
    assert (best["ae"].scored, best["ae"].of) == (2, 2)


def test_less_ter_is_better_and_of_equal_ones_the_first_is_taken(tmp_path: Path) -> None:
    scores = {"lm-0": (1.0, 50.01), "lm-1": (1.0, 49.99), "ae-1": (9.0, 51.0)}
    grid_results = results(tmp_path, scores)
    by_ter = Results(grid_results.grid, grid_results.sheet, (TER,), grid_results.cells)
    names = [choice.result and choice.result.cell.name for choice in by_ter.best("task")]
    assert names == ["lm-0", "ae-0"]  # what is shown alike is equally good
    assert [choice.result and choice.result.cell.name for choice in grid_results.best("task")] == [
        "lm-0",
        "ae-1",
    ]


def test_of_equal_bleu_the_next_metric_decides(tmp_path: Path) -> None:
    scores = {"lm-0": (33.04, 46.0), "lm-1": (33.0, 45.0), "ae-1": (32.9, 44.0)}
    best = results(tmp_path, scores).best("task")
    assert [choice.result and choice.result.cell.name for choice in best] == ["lm-1", "ae-0"]


def test_a_value_without_a_score_has_no_best(tmp_path: Path) -> None:
    grid_results = results(tmp_path, {"baseline": (1.0, 2.0), "ae-1": (3.0, 4.0)})
    at_zero, at_one = grid_results.best("weight")
    assert (at_zero.result, at_zero.scored, at_zero.of) == (None, 0, 2)
    assert at_one.result and at_one.result.cell.name == "ae-1"
    labels = [row.labels for row in best_by(grid_results, "weight").blocks[0].rows]
    assert labels == [("baseline", "–"), ("0", "–"), ("1", "ae")]  # noqa: RUF001


def test_columns_are_all_test_directions_unless_the_grid_chooses() -> None:
    two = sheet(SCORES, ("en-de", "de-fr"))
    assert quantities(two, ()) == (Quantity("bleu", "all"), Quantity("ter", "all"))
    chosen = quantities(two, ("zero-shot", "de-fr"))
    assert [column.group for column in chosen] == ["zero-shot", "de-fr"] * 2
    with pytest.raises(UserError, match=r"`groups` must be of en → X, .*de-fr; it has fr-en"):
        quantities(two, ("fr-en",))
    assert quantities(sheet(SCORES), ()) == (BLEU, TER)


def test_a_paper_s_pooled_score_is_the_column_where_there_is_one() -> None:
    from dataclasses import replace

    two = sheet(SCORES, ("en-de", "de-fr"))
    pooled = [replace(system, pooled={"all": {"bleu": 20.0}}) for system in two.systems]
    columns = quantities(replace(two, systems=tuple(pooled), protocol="tlm"), ())
    assert columns == (Quantity("bleu", "all", pooled=True), Quantity("ter", "all"))


def test_published_figures_stand_beside_their_cells(tmp_path: Path) -> None:
    changes = {"axes": {"task": AXES["task"]}, "cells": {"encoder-decoder": {}}, **NAMES}
    grid_results = results(tmp_path, {"LM": (33.0, 1.0)}, "tlm:2", **changes)
    theirs = [grid_results.published.row(result.cell.row) for result in grid_results.cells]
    assert theirs == [{BLEU: 34.9}, {BLEU: 34.7}, {BLEU: 35.0}]
    table = all_cells(grid_results)
    assert [(column.over, column.name) for column in table.columns] == [
        ("BLEU ↑", "de → en"),
        ("TER ↓", "de → en"),
        ("model", "parameters (M)"),
        ("TLM, Table 2: BLEU ↑", "de → en"),
    ]
    assert [row.cells[-1].text for block in table.blocks for row in block.rows] == [
        *("34.9", "34.7", "35.0"),
    ]
    assert "An encoder-only row is the best of the grid" in table.caption


def test_a_published_table_must_know_some_cell(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="`row` must come to names of rows of tlm:2, such as enc"):
        results(tmp_path, {"ae-1": (1.0, 2.0)}, "tlm:2")


BEST = {
    "axes": {"task": AXES["task"], "weight": AXES["weight"]},
    "cells": {"base": {"row": "encoder-decoder"}},
}


def test_published_figures_stand_beside_the_best(tmp_path: Path) -> None:
    named = {"best": {"task": {"published": "tlm:2", "row": "encoder-only, {task}"}}}
    grid_results = results(tmp_path, {"base": (1.0, 2.0), "AE-1": (33.0, 1.0)}, **BEST, **named)
    table = best_by(grid_results, "task")
    assert (table.columns[-1].over, table.columns[-1].name) == (
        "TLM, Table 2: BLEU ↑",
        "de → en",
    )
    (block,) = table.blocks
    assert [(row.labels[0], row.cells[-1].text) for row in block.rows] == [
        *(("base", "34.9"), ("LM", "34.7"), ("AE", "35.0")),
    ]
    assert "An encoder-only row is the best of the grid" in table.caption
    assert len(best_by(grid_results, "weight").columns) == len(table.columns) - 1
    assert "paper" not in best_by(grid_results, "weight").caption


def test_a_published_table_of_the_best_must_know_some_value(tmp_path: Path) -> None:
    named = {"best": {"task": {"published": "tlm:2", "row": "{task}"}}}
    with pytest.raises(UserError, match=r"`best.task.row` must .* of tlm:2, .*; it comes to AE"):
        results(tmp_path, {"base": (1.0, 2.0)}, **BEST, **named)


def test_a_published_table_of_other_directions_is_left_out(tmp_path: Path) -> None:
    grid_results = results(tmp_path, SCORES, "tlm:7")
    assert grid_results.published == Printed() and len(all_cells(grid_results).columns) == 3


def test_the_table(tmp_path: Path) -> None:
    shown = terminal(all_cells(results(tmp_path, title="A title")), 100, False).splitlines()
    assert [line.split() for line in shown] == [
        ["BLEU", "↑", "TER", "↓", "model"],
        ["task", "weight", *["de", "→", "en"] * 2, "parameters", "(M)"],
        ["─" * len(shown[1])],
        ["baseline", "–", "34.9*", "44.5", "36.9"],  # noqa: RUF001
        ["lm", "0", "33.0", "46.0", "36.9"],
        ["lm", "1", "–", "–", "–"],  # noqa: RUF001
        ["ae", "0", "33.0", "46.0", "36.9"],
        ["ae", "1", "34.0", "44.0*", "36.9"],
    ]
    assert [len(block.rows) for block in all_cells(results(tmp_path)).blocks] == [1, 4]
    caption = all_cells(results(tmp_path)).caption
    assert caption == (
        "Without scores: lm-1 (trained). Cells with the same flags, trained once: ae-0 = lm-0."
    )


def test_the_note_stands_below_each_table(tmp_path: Path) -> None:
    seeds = {"axes": {**AXES, **SEEDS}, "mean_over": "seed", "cells": {}}
    for axes in ({}, seeds):
        tables = tables_of(results(tmp_path, note="Tau is ours.", **axes), ["task"])
        assert len(tables) == 2 + bool(axes)
        assert all(table.caption.endswith(" Tau is ours.") for table in tables)


def test_the_best_table(tmp_path: Path) -> None:
    shown = terminal(best_by(results(tmp_path), "weight"), 100, False).splitlines()
    assert [line.split() for line in shown[3:]] == [
        ["baseline", "–", "34.9*", "44.5", "36.9"],  # noqa: RUF001
        ["0", "lm", "33.0", "46.0", "36.9", "2/2"],
        ["1", "ae", "34.0", "44.0*", "36.9", "1/2"],
    ]


def test_files(tmp_path: Path) -> None:
    changes = {"axes": AXES, "cells": {"encoder-decoder": {}}, **NAMES, "title": "A_title"}
    grid_results = results(
        tmp_path / "grid", {"LM-1": (33.0, 1.5), "encoder-decoder": (1, 2)}, "tlm:2", **changes
    )
    names = [path.name for path in write(grid_results, ["task"], tmp_path)]
    assert names == ["grid.md", "grid.tex", "grid.json", "grid.csv"]
    with (tmp_path / "grid.csv").open(encoding="utf-8") as stream:
        rows = {row["cell"]: row for row in csv.DictReader(stream)}
    assert rows["LM-1"] == {
        "cell": "LM-1",
        "run": "LM-1",
        "state": "translated",
        "task": "LM",
        "weight": "1",
        "bleu de-en": "33.0",
        "ter de-en": "1.5",
        "parameters": "36900000",
        "published bleu de-en": "34.7",
    }
    assert (rows["AE-0"]["run"], rows["AE-0"]["bleu de-en"]) == ("LM-0", "")
    content = json.loads((tmp_path / "grid.json").read_text())
    assert content["best"] == {"task": {"LM": "LM-1", "AE": None}}
    assert content["cells"][2]["scores"] == {"bleu de-en": 33.0, "ter de-en": 1.5}
    assert content["cells"][0]["values"] == {}
    text = (tmp_path / "grid.md").read_text()
    assert (
        text.startswith("# A\\_title\n\n| task | weight |") and "# A\\_title: best by task" in text
    )
    assert (tmp_path / "grid.tex").read_text().count("\\begin{table*}") == 2


SEEDS = {"seed": {"1": ["--seed 1"], "2": ["--seed 2"], "3": ["--seed 3"]}}


def seeded(folder: Path, scores: dict, **values: object) -> Results:
    axes = {"task": {**AXES["task"], **values}, **SEEDS}
    return results(folder, scores, axes=axes, cells={"base-1": {}}, mean_over="seed")


def test_cells_that_differ_in_their_seed_have_a_mean_and_a_spread(tmp_path: Path) -> None:
    scores = {"base-1": (90.0, 1.0), "LM-1": (30.0, 50.0), "LM-2": (31.0, 52.0)}
    scores |= {"LM-3": (35.0, 54.0), "AE-1": (33.0, 40.0), "base-2": (1.0, 1.0)}
    scores |= {"flat-1": (20.0, 60.0), "flat-2": (20.0, 60.0), "flat-3": (20.0, 60.0)}
    grid_results = seeded(tmp_path, scores, none=["--t none"], flat=["--t flat"])
    table = means_over(grid_results, "seed")
    assert table.heads == ("task", "cells")
    (block,) = table.blocks
    labels = [row.labels for row in block.rows]
    assert labels == [("LM", "3/3"), ("AE", "1/3"), ("none", "0/3"), ("flat", "3/3")]
    none = "–"  # noqa: RUF001
    assert [[cell.text for cell in row.cells] for row in block.rows] == [
        ["32.0 ± 2.6", "52.0 ± 2.0"],
        ["33.0", "40.0"],
        [none, none],
        ["20.0 ± 0.0", "60.0 ± 0.0"],
    ]
    # a mean of some cells is not the best
    best = [[cell.best for cell in row.cells] for row in block.rows]
    assert best == [[True, True], [False, False], [False, False], [False, False]]
    assert table.caption.startswith("Means over seed, ±")
    assert [entry.key for entry in tables_of(grid_results, [])] == ["grid", "mean-seed"]
    files = {
        path.name: path.read_text(encoding="utf-8") for path in write(grid_results, [], tmp_path)
    }
    assert "means over seed" in files["grid.md"]
    means = json.loads(files["grid.json"])["means"]
    assert means[0]["values"] == {"task": "LM"} and means[0]["cells"] == ["LM-1", "LM-2", "LM-3"]
    assert means[0]["scores"]["bleu de-en"] == {
        "mean": 32.0,
        "stdev": pytest.approx(2.6457513),
    }
    assert means[1]["scores"]["ter de-en"] == {"mean": 40.0}
    assert means[2]["scores"] == {}


def test_a_training_that_several_cells_share_counts_once(tmp_path: Path) -> None:
    scores = {"LM-1": (30.0, 50.0), "LM-2": (34.0, 52.0), "LM-3": (35.0, 54.0), "bare-1": (9.0, 9)}
    grid_results = seeded(tmp_path, scores, bare={"lines": ["--t bare"], "drops": ["seed"]})
    rows = means_over(grid_results, "seed").blocks[0].rows
    assert rows[-1].labels == ("bare", "1/1")
    assert [cell.text for cell in rows[-1].cells] == ["9.0", "9.0"]


def test_scores_of_validation_sets_are_called_so(tmp_path: Path) -> None:
    changes = {"axes": AXES, "cells": None, "measure": "validation"}
    grid_results = results(tmp_path, {"lm-0": (1.0, 2.0)}, **changes)
    assert all_cells(grid_results).caption.startswith("Scores are of validation sets")
    (path,) = (
        written for written in write(grid_results, [], tmp_path) if written.suffix == ".json"
    )
    assert json.loads(path.read_text())["measure"] == "validation"
