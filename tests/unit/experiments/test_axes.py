"""Tables over axes: their cells, what is trained for them, and what the report is told."""

import json
from pathlib import Path
from typing import Any

from support import experiments
from support.papers import steps

from tdo_plugin.experiments.tables import PlannedTable

FILE = """
published = "tlm"
protocol = "tlm"
[let]
corpora = ["de-en"]
[scales.toy]
score = "--lid corpus"
[scales.full]
[scales.full.let]
corpora = ["de-en", "en-ro"]
[corpora.de-en]
make = "tdo corpus --out {data}"
[corpora.en-ro]
make = "tdo corpus --out {data}"
[systems.de-en]
corpus = "de-en"
let.direction = "de-en"
[systems.en-ro]
corpus = "en-ro"
let.direction = "en-ro"
[systems.heavy]
flags.weight = 3
[systems.tlm]
flags.lr = 0.1
flags.eval-translation = "all"
[systems.baseline]
flags.arch = "transformer"
[axes.task.LM]
flags.task = "lm"
[axes.task.AE]
flags.task = "ae"
[axes.weight.0]
flags.task = false
[axes.weight.1]
flags.weight = 1
[axes.weight.3]
base = ["heavy"]
scales = ["full"]
[axes.weight.drops]
flags.weight = 9
[[axes.weight.drops.when]]
flags.task = false
[axes.seed.1]
[axes.seed.2]
[tables.table9]
title = "Grid"
axes = ["task", "weight"]
system = "{['de-en/tlm', 'en-ro/tlm'] if scale == 'full' else 'de-en/tlm'}"
label = "{task}-{weight}"
directions = "{direction}"
published_row = "encoder-only, {task}: {weight}"
note = "A note."
twins = true
score = "--metrics bleu,ter"
groups = ["de-en"]
[tables.table9.rows]
"{row}/baseline" = { label = "baseline", rows = "{corpora}", published = "encoder-decoder" }
[tables.table2]
title = "Tasks"
cells = "table9"
best = ["task"]
published_row = "encoder-only, {task}"
[tables.seeds]
measure = "validation"
axes = ["task", "seed"]
system = "de-en/tlm"
label = "{task}, {seed}"
mean_over = "seed"
"""


def planned(folder: Path, table: str, scale: str = "toy", seeds: int = 1) -> PlannedTable:
    return experiments.planned(folder, table, scale, seeds, text=FILE)


def cells(table: PlannedTable) -> dict[str, Any]:
    (report,) = (step for step in steps(table, "report"))
    (text,) = report.files.values()
    content: dict[str, Any] = json.loads(text)
    return content


def test_all_values_with_all_are_cells_the_last_axis_fastest(tmp_path):
    table = planned(tmp_path, "table9")
    assert [row.label for row in table.rows] == [
        *("baseline", "LM-0", "LM-1", "LM-drops", "AE-0", "AE-1", "AE-drops")
    ]
    assert table.rows[1].name == "de-en/tlm+task=LM+weight=0"
    assert table.rows[1].values == {"task": "LM", "weight": "0"} and not table.rows[0].values


def test_cells_of_equal_flags_are_trained_translated_and_scored_once(tmp_path):
    table = planned(tmp_path, "table9")
    names = ["baseline", "tlm+task=LM+weight=0", "tlm+task=LM+weight=1", "tlm+task=LM+weight=drops"]
    names.append("tlm+task=AE+weight=1")
    assert [step.name for step in steps(table, "training")] == [
        f"de-en/{name}/training" for name in names
    ]
    (scores,) = steps(table, "scores")
    words = scores.commands[0]
    systems = [word.partition("=")[0] for word in words if "/output" in word]
    assert systems == ["baseline", "LM-0", "LM-1", "LM-drops", "AE-1"]
    assert words[words.index("--directions") + 1] == "de-en"
    runs = {cell["name"]: cell["run"] for cell in cells(table)["cells"]}
    assert runs["AE-0"] == "LM-0" and runs["AE-drops"] == "LM-drops" and runs["AE-1"] == "AE-1"


def test_the_report_is_told_of_axes_cells_and_the_paper(tmp_path):
    table = planned(tmp_path, "table9")
    content = cells(table)
    assert content["axes"] == {"task": ["LM", "AE"], "weight": ["0", "1", "drops"]}
    assert (content["title"], content["note"], content["groups"]) == ("Grid", "A note.", ["de-en"])
    assert (content["published"], content["every"], content["best"]) == ("tlm:9", True, {})
    assert [cell["row"] for cell in content["cells"]][:2] == [
        *("encoder-decoder", "encoder-only, LM: 0"),
    ]
    assert content["cells"][4] == {
        **{"name": "AE-0", "run": "LM-0", "values": {"task": "AE", "weight": "0"}},
        **{"row": "encoder-only, AE: 0", "log": "../../de-en/tlm+task=LM+weight=0/train.log"},
    }
    (report,) = steps(table, "report")
    folder = tmp_path / "run/report/table9"
    cells_of = ("--cells", f"{folder}/cells.json")
    assert report.commands == (
        (
            *("report", f"{folder}/scores.json", "--out", str(folder)),
            *("--title", "mine, table 9", "--published", "tlm:9"),
        ),
        ("report", f"{folder}/scores.json", *cells_of, "--out", str(folder)),
    )


def test_another_table_shows_the_best_of_the_same_cells(tmp_path):
    table = planned(tmp_path, "table2")
    (scores,), (report,) = steps(table, "scores"), steps(table, "report")
    assert scores.name == "report/table9/de-en/scores" and report.name == "report/table2/report"
    folder = tmp_path / "run/report"
    (command,) = report.commands
    assert command[:3] == ("report", f"{folder}/table9/scores.json", "--cells")
    assert command[3:] == (f"{folder}/table2/cells.json", "--out", f"{folder}/table2")
    content = cells(table)
    rows = {"LM": "encoder-only, LM", "AE": "encoder-only, AE"}
    assert content["best"] == {"task": {"published": "tlm:2", "rows": rows}}
    assert (content["every"], content["published"], content["groups"]) == (False, "", ["de-en"])
    assert content["note"] == "A note."


def test_what_a_scale_alone_has(tmp_path):
    """A further value, and a second corpus, whose cells are a table of their own."""
    table = planned(tmp_path, "table9", "full")
    files = {path: text for step in steps(table, "report") for path, text in step.files.items()}
    assert [str(path.relative_to(tmp_path)) for path in files] == [
        *("run/report/table9/de-en/cells.json", "run/report/table9/en-ro/cells.json"),
    ]
    first, second = map(json.loads, files.values())
    assert first["axes"]["weight"] == ["0", "1", "3", "drops"]
    assert len(first["cells"]) == len(second["cells"]) == 9
    _, romanian = steps(table, "scores")
    words = romanian.commands[0]
    assert words[words.index("--directions") + 1] == "en-ro"
    assert f"{tmp_path}/run/report/table9/en-ro" in words
    (trained,) = (
        step for step in steps(table, "training") if "en-ro/tlm+task=LM+weight=3" in step.name
    )
    (text,) = trained.files.values()
    assert "--weight 3" in text


def test_validations_of_trainings_are_scored_without_translating(tmp_path):
    table = planned(tmp_path, "seeds")
    assert not steps(table, "translation") and not steps(table, "checkpoint")
    (scores,) = steps(table, "scores")
    run = f"{tmp_path}/run"
    names = [(task, seed) for task in ("LM", "AE") for seed in (1, 2)]
    assert scores.commands[0] == (
        "score",
        *(f"{t}, {s}={run}/de-en/tlm+task={t}+seed={s}/checkpoints" for t, s in names),
        *("--data", f"{run}/de-en/data", "--out", f"{run}/report/seeds", "--validations"),
    )
    content = cells(table)
    assert (content["measure"], content["mean_over"]) == ("validation", "seed")
    (text,) = steps(table, "training")[1].files.values()
    assert "--seed 2" in text


def test_of_several_seeds_cells_have_the_mean(tmp_path):
    table = planned(tmp_path, "table9", seeds=2)
    content = cells(table)
    assert content["seeds"] and content["cells"][1]["run"] == "LM-0"
    (scores,) = steps(table, "scores")
    names = [word.partition("=")[0] for word in scores.commands[0] if "/output" in word]
    assert names[2:4] == ["LM-0, seed 1", "LM-0, seed 2"] and len(names) == 10


MISTAKES = [
    ('eval-translation = "all"', "x = 1", "--eval-translation"),
    ('"all"\n[systems.b', '"all"\nflags.eval-subset = "test"\n[systems.b', "--eval-subset"),
    ('"{task}, {seed}"', '"{task}"', "tables.seeds.label"),
    ('mean_over = "seed"', 'mean_over = "weight"', "seed, task"),
    ('measure = "validation"', 'measure = "x"', "measure"),
    ('cells = "table9"', 'cells = "table2"', "seeds, table9"),
    ('base = ["heavy"]', 'base = ["hefty"]', "axes.weight.3.base"),
]


def test_what_is_refused(tmp_path, refused):
    for old, new, names in MISTAKES:
        assert old in FILE
        with refused.raised(new, names):
            experiments.planned(tmp_path, "seeds", text=FILE.replace(old, new))
    with refused.raised("seeds that are an axis", names="--seeds"):
        planned(tmp_path, "seeds", seeds=2)
