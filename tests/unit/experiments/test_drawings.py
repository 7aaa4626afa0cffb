"""What is drawn of tables: of all, for each training, without rows, and by scripts."""

import json
from pathlib import Path

import pytest

from tdo_plugin.errors import UserError
from tdo_plugin.experiments import runner
from tdo_plugin.experiments.document_reader import read_document
from tdo_plugin.experiments.machine import Machine
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.steps import Step, shown
from tdo_plugin.experiments.systems import Setting
from tdo_plugin.experiments.tables import PlannedTable

FILE = """
[scales.toy]
[corpora.first]
make = "tdo corpus --out {data}"
[systems.plain]
corpus = "first"
[systems.other]
flags.dropout = 0.1
[[draw]]
out = "curve"
rows = ["plain*"]
seeds = true
each = "{label}={checkpoints}"
make = "tdo curve {each} --out {out}.svg"
[tables.table1]
score = false
[tables.table1.rows]
plain = "a: one"
"plain+other" = "a: two"
[[tables.table1.draw]]
out = "probe"
per_seed = true
each = "{split(label, ': ')[1]}={last}"
make = "tdo probe --path {each} --out {out}"
[tables.table2]
score = false
[[tables.table2.draw]]
out = "sizes"
least = 0
make = ["python benchmarks/sizes.py one {out}", "python benchmarks/sizes.py two {out}"]
"""


def drawings(folder: Path, table: str, seeds: int = 1) -> tuple[Plan, list[Step]]:
    path = folder / "file.toml"
    path.write_text(FILE, encoding="utf-8")
    plan = Plan(Setting(read_document(path), "toy", {}), folder / "run", Inputs({}), seeds)
    goals = PlannedTable(plan, table).goals
    return plan, [plan.graph[goal] for goal in goals]


def test_what_is_drawn_of_every_table_comes_behind_its_own(tmp_path):
    _, (probe, curve) = drawings(tmp_path, "table1")
    run = tmp_path / "run"
    (command,) = curve.commands
    places = [f"{run}/{name}/checkpoints" for name in ("plain", "plain+other")]
    rows = [f"{label}={place}" for label, place in zip(("a: one", "a: two"), places, strict=True)]
    assert command == ("curve", *rows, "--out", f"{run}/table1/curve.svg")
    assert curve.needs == ("plain/training", "plain+other/training")
    assert probe.text == run / "table1" / "probe.txt"


def test_each_training_may_have_a_drawing_of_its_own(tmp_path):
    _, (first, second, curve) = drawings(tmp_path, "table1", 2)
    run = tmp_path / "run"
    for step, end in ((first, ""), (second, "+seed=2")):
        assert step.name == f"table1/probe{end}/drawing"
        (command,) = step.commands
        assert command[-1] == f"{run}/table1/probe{end}"
        places = [word.partition("=")[2] for word in command[2:4]]
        last = "checkpoints/checkpoint_last.pt"
        assert places == [f"{run}/plain{end}/{last}", f"{run}/plain+other{end}/{last}"]
    assert [word.partition("=")[0] for word in curve.commands[0][1:5]] == [
        *("a: one, seed 1", "a: one, seed 2", "a: two, seed 1", "a: two, seed 2"),
    ]


def test_a_table_without_rows_runs_scripts_and_keeps_what_they_print(tmp_path, monkeypatch):
    plan, (step,) = drawings(tmp_path, "table2")
    assert step.needs == ()
    assert shown(step.commands[0]).startswith("+ python benchmarks/sizes.py one ")
    text = "import os, sys; print(sys.argv[1]); print(os.getcwd(), file=sys.stderr)"
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "sizes.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(runner, "FILES", tmp_path)
    lines: list[str] = []
    steps = runner.Runner(plan.graph, Machine(((),)), lines.append)
    printed = tmp_path / "run/table2/sizes.txt"
    for _ in range(2):
        assert steps.run([step.name]) == {} and len(lines) == 2
        assert printed.read_text() == "one\ntwo\n"
    assert plan.graph.log(step.name).read_text() == f"{Path.cwd()}\n" * 2
    # what an interrupted one has printed does not stay
    record = plan.graph.record(step.name)
    record.path.write_text(json.dumps({"key": record.key, "done": False}))
    assert steps.run([step.name]) == {} and len(lines) == 4
    assert printed.read_text() == "one\ntwo\n"


def test_a_table_without_rows_has_none_to_choose_from(tmp_path):
    plan, _ = drawings(tmp_path, "table2")
    with pytest.raises(UserError, match="`--rows`"):
        PlannedTable(plan, "table2", ["plain"])
