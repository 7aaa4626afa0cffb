"""Rows of an option with several values, and what is drawn of rows."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tdo_plugin.experiments.document_reader import read_document
from tdo_plugin.experiments.library import setting_of
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.tables import PlannedTable

FILE = """
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


def planned(folder: Path, scale: str, given: Mapping[str, str] = {}, *rows: str) -> PlannedTable:
    path = folder / "file.toml"
    path.write_text(FILE, encoding="utf-8")
    setting = setting_of(read_document(path), scale, given)
    return PlannedTable(Plan(setting, folder / "run", Inputs({})), "table1", rows)


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
        ("small", {}, {"plain+start": "one: start", "plain+loss": "one: loss"}),
    ],
)
def test_names_and_labels_of_an_options_values(tmp_path, scale, given, rows):
    labels = {row.name: row.label for row in planned(tmp_path, scale, given).rows}
    assert {name: labels.get(name) for name in rows} == rows
    losses = {name for name in labels if "losses=" in name}
    assert losses == {name for name in rows if "losses=" in name}


def test_drawings_take_rows_with_a_word_and_a_baseline(tmp_path):
    table = planned(tmp_path, "full")
    (command,) = table.plan.graph["table1/curve-authors/drawing"].commands
    words = command[command.index("--x") : command.index("--out")]
    assert words == ("--x", "loss, authors", "--baseline", "one: base")
    # those with models have a device
    assert table.plan.graph["table1/preference/drawing"].device == "one"
    assert table.plan.graph["table1/curve-paper/drawing"].device == ""


@pytest.mark.parametrize("rows", [("plain+loss*",), ("plain",)])
def test_nothing_is_drawn_without_a_baseline_or_rows(tmp_path, rows):
    goals = planned(tmp_path, "full", {}, *rows).goals
    assert goals == ["table1/report", "table1/preference/drawing"]
