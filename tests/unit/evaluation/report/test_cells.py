"""What cells come to: scores, the paper's figures, the best for each value, tables and files."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from support.commands import csv_rows

from tdo_plugin.evaluation.report.cell_results import Printed, Results, gather, quantities
from tdo_plugin.evaluation.report.cell_tables import (
    all_cells,
    best_by,
    means_over,
    tables_of,
    write,
)
from tdo_plugin.evaluation.report.cells import BestOf, Cells, ScoredCell, read_cells
from tdo_plugin.evaluation.report.quantities import Quantity
from tdo_plugin.evaluation.report.table import ABSENT, Block
from tdo_plugin.evaluation.report.text_tables import terminal
from tdo_plugin.evaluation.score_sheet import DirectionScores, ScoreSheet, SystemScores

BLEU, TER = Quantity("bleu", "de-en"), Quantity("ter", "de-en")
SCORES = {"baseline": (34.9, 44.5), "lm-0": (33.0, 46.0), "ae-1": (34.04, 44.0)}
AXES = {"task": ("lm", "ae"), "weight": ("0", "1")}
BOTH: dict[str, BestOf] = {"task": BestOf(), "weight": BestOf()}
LOG = "| num. shared model params: 36,900,000 (num. trained: 36,900,000)\n"


def cells(axes: dict[str, tuple[str, ...]] = AXES, **changes: Any) -> Cells:
    """A baseline and all combinations; `ae-0` is the training of `lm-0`."""
    first, second = axes.values()
    combined = [
        ScoredCell(
            f"{a}-{b}",
            run := "lm-0" if (a, b) == ("ae", "0") else f"{a}-{b}",
            dict(zip(axes, (a, b), strict=True)),
            row=f"encoder-only, {a.upper()}",
            log=f"{run}.log",
        )
        for a in first
        for b in second
    ]
    baseline = ScoredCell("baseline", "baseline", row="encoder-decoder", log="baseline.log")
    return Cells(**{"title": "small", "axes": axes, "cells": (baseline, *combined), **changes})


def sheet(scores: dict, directions: tuple[str, ...] = ("de-en",)) -> ScoreSheet:
    systems = []
    for name, values in scores.items():
        row = dict(zip(("bleu", "ter"), values, strict=True))
        rows = tuple(DirectionScores(direction, 2, row) for direction in directions)
        systems.append(SystemScores(name, rows))
    groups = {"en → X": directions[:1], "zero-shot": directions[1:], "all": directions}
    shown = groups if len(directions) > 1 else {"de → X": directions}
    return ScoreSheet(tuple(systems), directions, shown, ("bleu", "ter"))


def results(folder: Path, scores: dict = SCORES, table: Cells | None = None) -> Results:
    for name in scores:
        (folder / f"{name}.log").write_text(LOG, encoding="utf-8")
    return gather(table or cells(best=BOTH), sheet(scores), folder)


def best(results: Results, axis: str) -> list[tuple[str | None, int, int]]:
    """The best cell of each value, and how many are scored of how many."""
    entries = results.best(axis)
    return [(e.result and e.result.cell.name, e.scored, e.of) for e in entries]


def texts(block: Block) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in block.rows]


def test_every_cell_is_there_and_shares_its_run_s_scores(tmp_path):
    by_name = {result.cell.name: result for result in results(tmp_path).cells}
    assert list(by_name) == ["baseline", "lm-0", "lm-1", "ae-0", "ae-1"]
    assert by_name["ae-0"].score(BLEU) == 33.0
    assert by_name["lm-1"].score(BLEU) is None and by_name["lm-1"].parameters is None
    assert by_name["ae-1"].scores == {BLEU: 34.04, TER: 44.0}
    assert by_name["ae-1"].parameters == 36_900_000


def test_the_best_of_each_value_is_by_the_first_metric_that_differs(tmp_path):
    assert best(results(tmp_path), "task") == [("lm-0", 1, 2), ("ae-1", 2, 2)]
    # less TER is better, and of what is shown alike the first is taken
    scores = {"lm-0": (1.0, 50.01), "lm-1": (1.0, 49.99), "ae-1": (9.0, 51.0)}
    found = results(tmp_path, scores)
    by_ter = Results(found.table, found.sheet, (TER,), found.cells)
    assert best(by_ter, "task") == [("lm-0", 2, 2), ("ae-0", 2, 2)]
    assert best(found, "task") == [("lm-0", 2, 2), ("ae-1", 2, 2)]
    # of equal BLEU the next metric decides
    scores = {"lm-0": (33.04, 46.0), "lm-1": (33.0, 45.0), "ae-1": (32.9, 44.0)}
    assert best(results(tmp_path, scores), "task") == [("lm-1", 2, 2), ("ae-0", 2, 2)]


def test_a_value_without_a_score_has_no_best(tmp_path):
    found = results(tmp_path, {"baseline": (1.0, 2.0), "ae-1": (3.0, 4.0)})
    assert best(found, "weight") == [(None, 0, 2), ("ae-1", 1, 2)]
    labels = [row.labels for row in best_by(found, "weight").blocks[0].rows]
    assert labels == [("baseline", ABSENT), ("0", ABSENT), ("1", "ae")]


def test_columns_are_all_test_directions_unless_the_file_chooses(refused):
    two = sheet(SCORES, ("en-de", "de-fr"))
    assert quantities(two, ()) == (Quantity("bleu", "all"), Quantity("ter", "all"))
    chosen = quantities(two, ("zero-shot", "de-fr"))
    assert [column.group for column in chosen] == ["zero-shot", "de-fr"] * 2
    with refused.raised("another group", names="`groups`"):
        quantities(two, ("fr-en",))
    assert quantities(sheet(SCORES), ()) == (BLEU, TER)
    # where there is a pooled score, as in a paper, it is the column
    pooled = [replace(system, pooled={"all": {"bleu": 20.0}}) for system in two.systems]
    columns = quantities(replace(two, systems=tuple(pooled), protocol="tlm"), ())
    assert columns == (Quantity("bleu", "all", pooled=True), Quantity("ter", "all"))


def test_published_figures_stand_beside_their_cells(tmp_path):
    found = results(tmp_path, {"lm-1": (33.0, 1.0)}, cells(published="tlm:2"))
    theirs = [found.published.row(result.cell.row) for result in found.cells]
    assert theirs == [{BLEU: 34.9}, *[{BLEU: 34.7}] * 2, *[{BLEU: 35.0}] * 2]
    table = all_cells(found)
    assert [column.over for column in table.columns] == [
        *("BLEU ↑", "TER ↓", "model", "TLM, Table 2: BLEU ↑")
    ]
    names = [column.name for column in table.columns]
    assert names == ["de → en", "de → en", "parameters (M)", "de → en"]
    last = [row[-1] for block in table.blocks for row in texts(block)]
    assert last == ["34.9", "34.7", "34.7", "35.0", "35.0"]
    assert "An encoder-only row is the best of the grid" in table.caption


NAMED = {"lm": "encoder-only, LM", "ae": "encoder-only, AE"}


def test_published_figures_stand_beside_the_best(tmp_path):
    beside = {"task": BestOf("tlm:2", NAMED), "weight": BestOf()}
    scores = {"baseline": (1.0, 2.0), "ae-1": (33.0, 1.0)}
    found = results(tmp_path, scores, cells(best=beside, every=False))
    assert [table.key for table in tables_of(found)] == ["best-task", "best-weight"]
    table = best_by(found, "task")
    last = table.columns[-1]
    assert (last.over, last.name) == ("TLM, Table 2: BLEU ↑", "de → en")
    (block,) = table.blocks
    assert [row.labels[0] for row in block.rows] == ["baseline", "lm", "ae"]
    assert [row[-1] for row in texts(block)] == ["34.9", "34.7", "35.0"]
    assert "An encoder-only row is the best of the grid" in table.caption
    assert len(best_by(found, "weight").columns) == len(table.columns) - 1
    assert "paper" not in best_by(found, "weight").caption


def test_a_published_table_of_other_directions_is_left_out(tmp_path):
    found = results(tmp_path, SCORES, cells(published="tlm:7"))
    assert found.published == Printed() and len(all_cells(found).columns) == 3


def test_tables_that_know_no_cell_or_value(tmp_path, refused):
    table = cells(published="tlm:9")
    other = replace(table, cells=tuple(replace(cell, row="other") for cell in table.cells))
    bare = cells(best={"task": BestOf("tlm:2", {"lm": "LM", "ae": "AE"})})
    bare = replace(bare, cells=tuple(replace(cell, row="") for cell in bare.cells))
    for system, chosen, names in (
        ("ae-1", other, "`row` must be names of rows of tlm:9"),
        ("baseline", bare, "`best.task` must be names of rows of tlm:2"),
        ("other", None, "`SCORES`"),
    ):
        with refused.raised(names, names=names):
            results(tmp_path, {system: (1.0, 2.0)}, chosen)


def test_the_table(tmp_path):
    shown = terminal(all_cells(results(tmp_path)), 100, False).splitlines()
    assert [line.split() for line in shown] == [
        ["BLEU", "↑", "TER", "↓", "model"],
        ["task", "weight", *["de", "→", "en"] * 2, "parameters", "(M)"],
        ["─" * len(shown[1])],
        ["baseline", ABSENT, "34.9*", "44.5", "36.9"],
        ["lm", "0", "33.0", "46.0", "36.9"],
        ["lm", "1", *[ABSENT] * 3],
        ["ae", "0", "33.0", "46.0", "36.9"],
        ["ae", "1", "34.0", "44.0*", "36.9"],
    ]
    assert [len(block.rows) for block in all_cells(results(tmp_path)).blocks] == [1, 4]
    caption = all_cells(results(tmp_path)).caption
    assert caption == "Without scores: lm-1. Cells with the same flags, trained once: ae-0 = lm-0."


def test_the_note_stands_below_each_table(tmp_path):
    noted = cells(note="Tau is ours.", best={"task": BestOf()})
    for table, count in ((noted, 2), (replace(noted, mean_over="weight"), 3)):
        tables = tables_of(results(tmp_path, SCORES, table))
        assert len(tables) == count
        assert all(entry.caption.endswith(" Tau is ours.") for entry in tables)


def test_the_best_table(tmp_path):
    shown = terminal(best_by(results(tmp_path), "weight"), 100, False).splitlines()
    assert [line.split() for line in shown[3:]] == [
        ["baseline", ABSENT, "34.9*", "44.5", "36.9"],
        ["0", "lm", "33.0", "46.0", "36.9", "2/2"],
        ["1", "ae", "34.0", "44.0*", "36.9", "1/2"],
    ]


def test_files(tmp_path):
    table = cells(published="tlm:2", best={"task": BestOf()}, title="A_title")
    found = results(tmp_path, {"lm-1": (33.0, 1.5), "baseline": (1, 2)}, table)
    names = [path.name for path in write(found, tmp_path)]
    assert names == ["grid.md", "grid.tex", "grid.json", "grid.csv"]
    rows = {row["cell"]: row for row in csv_rows(tmp_path / "grid.csv")}
    assert rows["lm-1"] == {
        **{"cell": "lm-1", "run": "lm-1", "task": "lm", "weight": "1", "bleu de-en": "33.0"},
        **{"ter de-en": "1.5", "parameters": "36900000", "published bleu de-en": "34.7"},
    }
    assert (rows["ae-0"]["run"], rows["ae-0"]["bleu de-en"]) == ("lm-0", "")
    content = json.loads((tmp_path / "grid.json").read_text())
    assert content["best"] == {"task": {"lm": "lm-1", "ae": None}}
    assert content["cells"][2]["scores"] == {"bleu de-en": 33.0, "ter de-en": 1.5}
    assert content["cells"][0]["values"] == {}
    text = (tmp_path / "grid.md").read_text()
    assert text.startswith("# A\\_title\n\n| task | weight |")
    assert "# A\\_title: best by task" in text
    assert (tmp_path / "grid.tex").read_text().count("\\begin{table*}") == 2


def seeded(folder: Path, scores: dict, tasks: tuple[str, ...], bare: bool = False) -> Results:
    """Cells over tasks and seeds; with `bare` those of `bare` are one training."""
    axes = {"task": tasks, "seed": ("1", "2", "3")}
    table = cells(axes, mean_over="seed")
    shared = [replace(cell, run="bare-1") if "bare" in cell.name else cell for cell in table.cells]
    return results(folder, scores, replace(table, cells=tuple(shared)) if bare else table)


def test_cells_that_differ_in_their_seed_have_a_mean_and_a_spread(tmp_path):
    scores = {"baseline": (90.0, 1.0), "lm-1": (30.0, 50.0), "lm-2": (31.0, 52.0)}
    scores |= {"lm-3": (35.0, 54.0), "ae-1": (33.0, 40.0), "base-2": (1.0, 1.0)}
    scores |= {f"flat-{seed}": (20.0, 60.0) for seed in (1, 2, 3)}
    found = seeded(tmp_path, scores, ("lm", "ae", "none", "flat"))
    table = means_over(found, "seed")
    assert table.heads == ("task", "cells")
    (block,) = table.blocks
    labels = [row.labels for row in block.rows]
    assert labels == [("lm", "3/3"), ("ae", "1/3"), ("none", "0/3"), ("flat", "3/3")]
    assert texts(block) == [
        ["32.0 ± 2.6", "52.0 ± 2.0"],
        ["33.0", "40.0"],
        [ABSENT, ABSENT],
        ["20.0 ± 0.0", "60.0 ± 0.0"],
    ]
    # a mean of some cells is not the best
    bold = [[cell.best for cell in row.cells] for row in block.rows]
    assert bold == [[True, True], *[[False, False]] * 3]
    assert table.caption.startswith("Means over seed, ±")
    assert [entry.key for entry in tables_of(found)] == ["grid", "mean-seed"]
    files = {path.name: path.read_text(encoding="utf-8") for path in write(found, tmp_path)}
    assert "means over seed" in files["grid.md"]
    first, second, third, _ = json.loads(files["grid.json"])["means"]
    assert first["values"] == {"task": "lm"} and first["cells"] == ["lm-1", "lm-2", "lm-3"]
    assert first["scores"]["bleu de-en"] == {"mean": 32.0, "stdev": pytest.approx(2.6457513)}
    assert second["scores"]["ter de-en"] == {"mean": 40.0}
    assert third["scores"] == {}


def test_a_training_that_several_cells_share_counts_once(tmp_path):
    scores = {"lm-1": (30.0, 50.0), "lm-2": (34.0, 52.0), "lm-3": (35.0, 54.0), "bare-1": (9.0, 9)}
    (block,) = means_over(seeded(tmp_path, scores, ("lm", "bare"), bare=True), "seed").blocks
    assert block.rows[-1].labels == ("bare", "1/1")
    assert texts(block)[-1] == ["9.0", "9.0"]


def test_several_trainings_of_each_cell_count_by_their_mean(tmp_path):
    scores = {"ae-1, seed 1": (30.0, 50.0), "ae-1, seed 2": (34.0, 52.0), "lm-1, seed 1": (1, 2)}
    found = results(tmp_path, scores, cells(seeds=True))
    by_name = {result.cell.name: result for result in found.cells}
    assert by_name["ae-1"].scores == {BLEU: 32.0, TER: 51.0}
    assert "Scores are means over seeds." in all_cells(found).caption


def test_scores_of_validation_sets_are_called_so(tmp_path):
    found = results(tmp_path, {"lm-0": (1.0, 2.0)}, cells(measure="validation"))
    assert all_cells(found).caption.startswith("Scores are on validation sets")
    (path,) = (written for written in write(found, tmp_path) if written.suffix == ".json")
    assert json.loads(path.read_text())["measure"] == "validation"


def test_a_file_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "cells.json"
    path.write_text(json.dumps(asdict(cells(best=BOTH))), encoding="utf-8")
    assert read_cells(path) == cells(best=BOTH)


def test_mistakes_are_named(tmp_path, refused):
    path = tmp_path / "cells.json"
    with refused.raised("no file", names="--cells"):
        read_cells(path)
    cell = {"name": "a", "run": "a"}
    for change, names in (
        ({"best": {"tusk": {}}}, "tusk"),
        ({"mean_over": "seed"}, "seed"),
        ({"measure": "train"}, "measure"),
        ({"cells": [cell] * 2}, "two are called a"),
        ({"cells": [{**cell, "values": {"task": "lm"}}]}, "a has not"),
        ({"cells": [{**cell, "values": {"task": "x", "weight": "0"}}]}, "for a it is x"),
        ({"published": "tlm:99"}, "--published"),
        ({"axes": 3}, "axes"),
        ({"speed": 3}, "speed"),
    ):
        path.write_text(json.dumps(asdict(cells()) | change), encoding="utf-8")
        with refused.raised(f"{change}", names=names):
            read_cells(path)
