"""Systems that come to the same are trained and tested once, as the first of them in the file."""

from pathlib import Path

import pytest
from support.experiments import planned
from support.papers import steps

from tdo_plugin.experiments.tables import PlannedTable

FILE = """
[let]
text = "x"
[flags]
lr = 0.1
[scales.toy]
[corpora.first]
make = "tdo corpus --out {data}"
[corpora.second]
make = "tdo corpus --out {data} --seed 2"
[made.other]
at = "{text}.txt"
make = "tdo monolingual --out {out}"
[systems.base]
corpus = "first"
test = "--last 1"
[systems.same]
flags.lr = 0.1
[systems.flag]
flags.dropout = 0.1
[systems.without]
flags.dropout = false
[systems.elsewhere]
corpus = "second"
[systems.tested-otherwise]
test = "--best 5"
[systems.tuned]
continues = "finetune"
flags.lr = 0.2
[systems.made]
flags.masks = "{made.other}"
[tables.table1.rows]
"base" = "one"
"base+tuned" = "tuned"
[tables.table2]
twins = true
[tables.table2.rows]
"ROW" = "two"
"""


def table2(folder: Path, row: str) -> PlannedTable:
    return planned(folder, "table2", text=FILE.replace("ROW", row))


def names(folder: Path, row: str, kind: str) -> list[str]:
    return [step.name for step in steps(table2(folder, row), kind)]


@pytest.mark.parametrize("row", ["base+same", "base+flag+without", "same+base", "base+text=y"])
def test_systems_of_equal_flags_are_one_training_and_one_output(tmp_path, row):
    for kind in ("training", "checkpoint"):
        assert names(tmp_path, row, kind) == [f"base/{kind}"]
    assert names(tmp_path, row, "translation") == ["base/output/all"]
    (scores,) = steps(table2(tmp_path, row), "scores")
    assert f"two={tmp_path}/run/base/output" in scores.commands[0]


@pytest.mark.parametrize("row", ["base+flag", "base+elsewhere", "base+seed=2"])
def test_others_are_trained_for_themselves(tmp_path, row):
    assert names(tmp_path, row, "training") == [f"{row}/training"]


def test_one_training_may_be_tested_in_two_ways(tmp_path):
    row = "base+tested-otherwise"
    assert names(tmp_path, row, "training") == ["base/training"]
    assert names(tmp_path, row, "checkpoint") == [f"{row}/checkpoint"]
    (command,) = table2(tmp_path, row).plan.graph[f"{row}/checkpoint"].commands
    assert str(tmp_path / "run/base/checkpoints") in command
    assert str(tmp_path / "run" / row / "average.pt") in command


def test_what_they_go_on_with_counts(tmp_path):
    assert names(tmp_path, "base+same+tuned", "training") == [
        *("base/training", "base+tuned/training"),
    ]
    # a tuned training begins with the tested checkpoint, which is another one here
    row = "base+tested-otherwise+tuned"
    assert names(tmp_path, row, "training") == ["base/training", f"{row}/training"]


def test_what_is_made_for_them_counts_by_its_place(tmp_path):
    twins = table2(tmp_path, "base+made").plan.twins
    assert twins.trained_as("base+made+text=x") == "base+made"
    assert twins.trained_as("base+made+text=y") == "base+made+text=y"


def test_rows_that_come_to_the_same_are_shown_once_unless_twins_are_asked_for(tmp_path):
    for text, rows in ((FILE, ["base", "base+same"]), (FILE.replace("twins = true", ""), ["base"])):
        shown = text.replace("ROW", 'base" = "one"\n"base+same')
        assert [row.name for row in planned(tmp_path, "table2", text=shown).rows] == rows
