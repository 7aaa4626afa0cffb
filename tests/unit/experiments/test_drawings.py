"""What is drawn of tables, of all or some rows, and rows of an option with several values."""

import json
from pathlib import Path

import pytest
from support.experiments import planned

from tdo_plugin.errors import UserError
from tdo_plugin.experiments import runner
from tdo_plugin.experiments.machine import Machine
from tdo_plugin.experiments.steps import Graph, Step, shown

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


def drawings(folder: Path, table: str, seeds: int = 1) -> tuple[Graph, list[Step]]:
    made = planned(folder, table, "toy", seeds, text=FILE)
    return made.plan.graph, [made.plan.graph[goal] for goal in made.goals]


def test_what_is_drawn_of_every_table_comes_behind_its_own(tmp_path):
    _, (probe, curve) = drawings(tmp_path, "table1")
    run = tmp_path / "run"
    (command,) = curve.commands
    places = [f"{run}/{name}/checkpoints" for name in ("plain", "plain+other")]
    rows = [f"{label}={place}" for label, place in zip(("a: one", "a: two"), places, strict=True)]
    assert command == ("curve", *rows, "--out", f"{run}/report/table1/curve.svg")
    assert curve.needs == ("plain/training", "plain+other/training")
    assert probe.text == run / "report" / "table1" / "probe.txt"


def test_each_training_may_have_a_drawing_of_its_own(tmp_path):
    _, (first, second, curve) = drawings(tmp_path, "table1", 2)
    run = tmp_path / "run"
    for step, end in ((first, ""), (second, "+seed=2")):
        assert step.name == f"report/table1/probe{end}/drawing"
        (command,) = step.commands
        assert command[-1] == f"{run}/report/table1/probe{end}"
        places = [word.partition("=")[2] for word in command[2:4]]
        last = "checkpoints/checkpoint_last.pt"
        assert places == [f"{run}/plain{end}/{last}", f"{run}/plain+other{end}/{last}"]
    assert [word.partition("=")[0] for word in curve.commands[0][1:5]] == [
        *("a: one, seed 1", "a: one, seed 2", "a: two, seed 1", "a: two, seed 2"),
    ]


def test_a_table_without_rows_runs_scripts_and_keeps_what_they_print(tmp_path, monkeypatch):
    graph, (step,) = drawings(tmp_path, "table2")
    assert step.needs == ()
    assert shown(step.commands[0]).startswith("+ python benchmarks/sizes.py one ")
    text = "import os, sys; print(sys.argv[1]); print(os.getcwd(), file=sys.stderr)"
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "sizes.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(runner, "FILES", tmp_path)
    lines: list[str] = []
    steps = runner.Runner(graph, Machine(((),)), lines.append)
    printed = tmp_path / "run/report/table2/sizes.txt"
    for _ in range(2):
        assert steps.run([step.name]) == {} and len(lines) == 4
        assert printed.read_text() == "one\ntwo\n"
    assert graph.log(step.name).read_text() == f"{Path.cwd()}\n" * 2
    # what an interrupted one has printed does not stay
    record = graph.record(step.name)
    record.path.write_text(json.dumps({"key": record.key, "done": False}))
    assert steps.run([step.name]) == {} and len(lines) == 8
    assert printed.read_text() == "one\ntwo\n"


def test_a_table_without_rows_has_none_to_choose_from(tmp_path):
    with pytest.raises(UserError, match="`--rows`"):
        planned(tmp_path, "table2", "toy", 1, "plain", text=FILE)


OPTIONS = """
[options.losses]
choices = ["paper", "authors", "recipe"]
default.full = ["paper", "authors"]
default.small = "recipe"
labels.paper = ", paper"
labels.authors = ", authors"
labels.recipe = ", recipe"
[scales.full]
[scales.small]
[corpora.corpus]
make = "tdo corpus --out {data}"
[systems.plain]
corpus = "corpus"
[systems.start]
flags.lr = 0.1
[[systems.start.when]]
losses = "recipe"
flags.tdo-init = "identity-stage1"
[systems.loss]
let.layer = 3
flags.instrucl-layer = "{layer}"
[[systems.loss.when]]
losses = ["authors", "recipe"]
flags.instrucl-scale = "per-token"
[tables.table1.rows]
"plain" = "one: base"
"plain+start" = "one: start"
"plain+loss" = "one: loss"
[[tables.table1.draw]]
out = "curve-{at}"
at = ["paper", "authors"]
rows = ["*+loss*"]
baseline = ["plain"]
each = "{split(label, ': ')[1] if losses == at else ''}"
make = "tdo analyze sweep {scores} --x {each} --baseline {baseline} --out {out}"
[[tables.table1.draw]]
out = "preference"
each = "{label}={checkpoint}"
make = "tdo analyze preference --path {each} --out {out}"
"""
BASE, START = {"plain": "one: base"}, {"plain+start": "one: start"}
PAPER = {"plain+loss": "one: loss, paper"}
AUTHORS = {"plain+loss+losses=authors": "one: loss, authors"}
RECIPE = {
    "plain+start+losses=recipe": "one: start, recipe",
    "plain+loss+losses=recipe": "one: loss, recipe",
}


@pytest.mark.parametrize(
    ("scale", "given", "rows"),
    [
        ("full", {}, BASE | START | PAPER | AUTHORS),
        ("full", {"losses": "authors"}, BASE | START | AUTHORS),
        ("full", {"losses": "paper"}, BASE | PAPER),
        ("full", {"losses": "recipe"}, BASE | RECIPE),
        (
            "small",
            {},
            BASE | {"plain+start": "one: start, recipe", "plain+loss": "one: loss, recipe"},
        ),
        ("small", {"losses": "paper"}, BASE | START | {"plain+loss": "one: loss"}),
    ],
)
def test_names_and_labels_of_an_options_values(tmp_path, scale, given, rows):
    labels = {
        row.name: row.label
        for row in planned(tmp_path, "table1", scale, text=OPTIONS, **given).rows
    }
    assert {name: labels.get(name) for name in rows} == rows
    losses = {name for name in labels if "losses=" in name}
    assert losses == {name for name in rows if "losses=" in name}


def test_drawings_take_rows_with_a_word_and_a_baseline(tmp_path):
    table = planned(tmp_path, "table1", "full", text=OPTIONS)
    (command,) = table.plan.graph["report/table1/curve-authors/drawing"].commands
    words = command[command.index("--x") : command.index("--out")]
    assert words == ("--x", "loss, authors", "--baseline", "one: base")
    # those with models have a device
    assert table.plan.graph["report/table1/preference/drawing"].device == "one"
    assert table.plan.graph["report/table1/curve-paper/drawing"].device == ""


@pytest.mark.parametrize("rows", [("plain+loss*",), ("plain",)])
def test_nothing_is_drawn_without_a_baseline_or_rows(tmp_path, rows):
    goals = planned(tmp_path, "table1", "full", 1, *rows, text=OPTIONS).goals
    assert goals == ["report/table1/report", "report/table1/preference/drawing"]
