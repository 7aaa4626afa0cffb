"""The file of the TLM paper: the grid of table 9 and the best of it."""

import json
from pathlib import Path

import pytest

from tdo_plugin.evaluation.published import published
from tdo_plugin.experiments.library import find, setting_of
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.tables import PlannedTable

BEST = {"2": "task", "3": "mask", "4": "noise", "5": "schedule"}


def planned(table: str, scale: str) -> PlannedTable:
    return PlannedTable(Plan(setting_of(find("tlm"), scale, {}), Path("run"), Inputs({})), table)


def cells(table: str, scale: str) -> list[dict]:
    shown = planned(table, scale)
    reports = (step for step in shown.plan.graph.closure(shown.goals) if step.kind == "report")
    return [json.loads(text) for report in reports for text in report.files.values()]


def rows_of(number: str) -> list[str]:
    (table,) = (entry for entry in published("tlm").tables if entry.table == number)
    return [row.name for row in table.rows]


@pytest.mark.parametrize("scale", ["toy", "smoke", "multi30k", "full"])
def test_the_grid_has_a_cell_for_each_row_of_the_paper(scale):
    for content in cells("table9", scale):
        assert [cell["row"] for cell in content["cells"]] == rows_of("9")
        assert len({cell["run"] for cell in content["cells"]}) == 29  # four pairs share one


@pytest.mark.parametrize("number", list(BEST))
def test_other_tables_are_of_the_best_cells(number):
    (content,) = cells(f"table{number}", "toy")
    (axis,) = content["best"]
    assert axis == BEST[number] and not content["every"]
    assert ["encoder-decoder", *content["best"][axis]["rows"].values()] == rows_of(number)
    assert content["best"][axis]["published"] == f"tlm:{number}"


def test_two_language_pairs_are_two_grids_with_the_paper_s_data():
    small, full = planned("table9", "toy"), planned("table9", "full")
    assert small.blocks() == ["de-en"] and full.blocks() == ["de-en", "en-ro"]
    assert small.left_out == ["en-ro/encoder-decoder", "en-ro/tlm"]
    trainings = [step for step in full.plan.graph.closure(full.goals) if step.kind == "training"]
    assert len(trainings) == 2 * 29
    assert {step.name.partition("/")[0] for step in trainings} == {"de-en", "en-ro"}
    texts = {text for step in trainings for text in step.files.values()}
    assert sum("--lang-pairs en-ro\n" in text for text in texts) == 29


def test_without_the_loss_nothing_says_its_task():
    table = planned("table9", "toy")
    for row in table.rows:
        flags = table.plan.system(row.systems[0]).config(lambda expression, scope: None).flags
        without = row.values.get("schedule", "0") == "0"
        assert ("--reconstruction-task" in flags) != without


def test_table_7_translates_its_text_back_with_the_other_direction():
    table = planned("table7", "full")
    steps = {step.name: step for step in table.plan.graph.closure(table.goals)}
    (command,) = steps["mono/back-translated/made"].commands
    run = table.plan.graph.run
    assert command[:6] == (
        *("backtranslate", f"{run}/mono/data", "--path"),
        *(f"{run}/mono/encoder-decoder+reverse/average.pt", "--text"),
        f"en={run}/mono/data/mono/mono.en",
    )
    (text,) = steps["mono/encoder-decoder+reverse/training"].files.values()
    assert "--lang-pairs en-zh\n" in text
    for name, flag in (("back-translation", "back-translated"), ("lm", "monolingual")):
        (text,) = steps[f"mono/encoder-only+{name}/training"].files.values()
        assert f"--{flag} {run}/mono/{flag}\n" in text and "--lang-pairs zh-en\n" in text
