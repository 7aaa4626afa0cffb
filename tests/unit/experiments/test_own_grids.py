"""Files of grids that are of no paper: how many cells and trainings they come to, and how."""

from pathlib import Path

import pytest

from tdo_plugin.experiments.library import find, setting_of
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.tables import PlannedTable


def planned(file: str, table: str, scale: str) -> PlannedTable:
    return PlannedTable(Plan(setting_of(find(file), scale, {}), Path("run"), Inputs({})), table)


@pytest.mark.parametrize(
    ("file", "table", "scale", "count", "trainings"),
    [
        ("quickstart", "grid", "toy", 12, 9),
        ("two-stage-start", "starts", "toy", 111, 111),
        ("two-stage-start", "starts", "multi30k", 36, 36),
        ("tpdm-game", "game", "toy", 66, 52),
        ("tpdm-game", "game", "multi30k", 66, 52),
    ],
)
def test_cells_and_trainings(file, table, scale, count, trainings):
    shown = planned(file, table, scale)
    steps = [step.kind for step in shown.plan.graph.closure(shown.goals)]
    assert (len(shown.rows), steps.count("training")) == (count, trainings)
    assert ("translation" in steps) == (file == "quickstart")


def test_the_quickstart_s_grid_shares_a_training_with_its_table():
    shown = planned("quickstart", "grid", "toy")
    names = [step.name for step in shown.plan.graph if step.kind == "training"]
    assert names[0] == "prefix-decoder-only/training"


def test_what_an_axis_changes_stands_against_the_scale():
    plan = planned("two-stage-start", "starts", "toy").plan

    def flags(setup: str) -> dict[str, list[str]]:
        system = plan.system(f"two-stage+setup={setup}+seed=2")
        return system.config(lambda expression, scope: None).flags

    assert flags("temperature-0.1-batch")["--max-update"] == ["1000"]
    assert flags("temperature-0.1-dropout")["--dropout"] == ["0.1"]
    assert flags("recipe")["--max-update"] == ["2000"] and flags("recipe")["--seed"] == ["2"]
    assert flags("lexical")["--tdo-init"] == ["standard"]
