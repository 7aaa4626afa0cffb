"""Tables of experiment files: their rows, and the steps and commands that they come to."""

import pytest
from support.experiments import TEXT, document, planned

from tdo_plugin.errors import UserError
from tdo_plugin.experiments import steps as steps_module
from tdo_plugin.experiments.library import setting_of
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.rows import tables_with
from tdo_plugin.experiments.runner import refuse_foreign, to_do
from tdo_plugin.experiments.tables import PlannedTable


def steps(table, kind):
    return {step.name: step for step in table.plan.graph.closure(table.goals) if step.kind == kind}


def words(table, kind):
    """The commands of a kind of step, paths below the run's folder."""
    run = f"{table.plan.graph.run}/"
    return {
        name: " | ".join(" ".join(command) for command in step.commands).replace(run, "")
        for name, step in steps(table, kind).items()
    }


def test_rows_have_the_labels_of_their_scale(tmp_path):
    """And one for each value of an option, where they differ."""
    table = planned(tmp_path, "table1")
    assert [(row.name, row.label) for row in table.rows] == [
        ("base", "like plain"),
        ("tdo", "like two stages, M = 3 of 6"),
        ("tdo+instrucl", "like InstruCL at 5, authors' form"),
    ]
    assert table.left_out == ["large"]
    table = planned(tmp_path, "table1", "full")
    assert [(row.name, row.label) for row in table.rows] == [
        ("base", "plain"),
        ("tdo", "two stages, M = 6 of 12"),
        ("tdo+instrucl", "InstruCL at 9, paper's form"),
        ("tdo+instrucl+losses=authors", "InstruCL at 9, authors' form"),
        ("large", "large"),
    ]
    only = planned(tmp_path, "table1", "full", losses="authors")
    assert [row.name for row in only.rows][2:] == ["tdo+instrucl+losses=authors", "large"]


def test_some_rows(tmp_path, refused):
    table = planned(tmp_path, "table1", "toy", 1, "tdo*")
    assert [row.name for row in table.rows] == ["tdo", "tdo+instrucl"]
    setting = table.plan.setting
    assert tables_with(setting, ["table1", "parts"], ["tdo+r*"]) == ["parts"]
    assert tables_with(setting, ["table1", "parts"], []) == ["table1", "parts"]
    with refused.raised("rows that there are not", names="none matches none"):
        tables_with(setting, ["table1", "parts"], ["tdo", "none"])
    with refused.raised("a row of another scale", names="large do not"):
        planned(tmp_path, "table1", "toy", 1, "large")
    system = planned(tmp_path, "parts").plan.system("one")
    with refused.raised("a flag of which nothing remains", names="one+direction=VALUE"):
        system.config(lambda expression, scope: None)


def test_a_table_from_data_to_report(tmp_path):
    table = planned(tmp_path, "table1", "toy", 1, "base", "tdo")
    assert words(table, "data") == {
        "text/data": "corpus --out text/text | preprocess text/text text/data --pairs shared"
    }
    assert words(table, "training") == {
        f"{name}/training": f"train {name}/system.conf text/data --save-dir {name}/checkpoints"
        for name in ("base", "tdo")
    }
    (_, config) = next(iter(steps(table, "training")["tdo/training"].files.items()))
    assert "--tdo-target-layer 3\n" in config
    assert words(table, "checkpoint")["tdo/checkpoint"] == (
        "average --path tdo/checkpoints --last 1 --out tdo/average.pt --fresh"
    )
    assert words(table, "translation")["tdo/output/en-X"] == (
        "translate text/data --path tdo/average.pt --out tdo/output --pairs en-*"
    )
    assert words(table, "scores") == {
        "report/table1/text/scores": "score like plain=base/output "
        "like two stages, M = 3 of 6=tdo/output --data text/data --out report/table1 "
        "--directions en-* --baseline like plain"
    }
    assert words(table, "report") == {
        "report/table1/report": "report report/table1/scores.json --out report/table1 "
        "--title Two systems, table 1"
    }


def test_seeds(tmp_path):
    table = planned(tmp_path, "table1", "toy", 2, "tdo")
    assert list(steps(table, "training")) == ["tdo/training", "tdo+seed=2/training"]
    (_, second) = next(iter(steps(table, "training")["tdo+seed=2/training"].files.items()))
    assert "--seed 2\n" in second
    score = words(table, "scores")["report/table1/text/scores"]
    assert "M = 3 of 6, seed 1=tdo/output" in score
    assert "M = 3 of 6, seed 2=tdo+seed=2/output" in score


@pytest.mark.parametrize(
    ("seeds", "baseline"), [(1, "authors' form"), (2, "authors' form, seed 1")]
)
def test_a_baseline_is_found_by_a_pattern_of_its_name(tmp_path, seeds, baseline):
    text = TEXT.replace('baseline = "*ase"', 'baseline = "*+instrucl"')
    table = planned(tmp_path, "table1", "toy", seeds, text=text)
    assert words(table, "scores")["report/table1/text/scores"].endswith(
        f"like InstruCL at 5, {baseline}"
    )


def test_a_baseline_that_is_no_row_is_refused(tmp_path):
    text = TEXT.replace('baseline = "*ase"', 'baseline = "plain"')
    with pytest.raises(UserError, match="the name of a row; plain matches none"):
        planned(tmp_path, "table1", "toy", text=text)


def test_a_row_of_several_systems_and_what_goes_on_with_another_training(tmp_path):
    table = planned(tmp_path, "parts")
    translations = words(table, "translation")
    assert [name for name in translations if name.startswith("one")] == [
        "one+direction=en-de/output/en-de", "one+direction=en-fr/output/en-fr",
    ]  # fmt: skip
    score = words(table, "scores")["report/parts/text/scores"]
    assert "like apart=one+direction=en-de/output like apart=one+direction=en-fr/output" in score
    trainings = steps(table, "training")
    run = table.plan.graph.run
    assert trainings["tdo+robt/training"].start == (
        "--restore-file", f"{run}/tdo/checkpoints/checkpoint_last.pt",
    )  # fmt: skip
    masked = trainings["tdo+masked+threshold=0.5/training"]
    assert masked.start == ("--finetune-from-model", f"{run}/tdo/average.pt")
    assert f"--tdo-neuron-masks {run}/masks/0.5.masks\n" in next(iter(masked.files.values()))
    assert words(table, "made") == {
        "masks/0.5.masks/made": "neurons allocate tdo/average.pt --threshold 0.5 "
        "--out masks/0.5.masks"
    }
    order = list(table.plan.graph)
    names = [step.name for step in order]
    for step in order:
        assert all(names.index(need) < names.index(step.name) for need in step.needs)


def test_what_is_drawn_and_without_matplotlib_printed(tmp_path, monkeypatch):
    table = planned(tmp_path, "parts")
    (drawing,) = words(table, "drawing").values()
    assert drawing == (
        "curve updates like masked=tdo+masked+threshold=0.5/checkpoints/validation.jsonl "
        "like ROBT=tdo+robt/checkpoints/validation.jsonl --out report/parts/curve.svg"
    )
    alone = planned(tmp_path, "parts", "toy", 1, "each")
    assert words(alone, "drawing") == {}
    monkeypatch.setattr(steps_module, "cannot_draw", lambda: "matplotlib")
    (drawing,) = words(planned(tmp_path, "parts"), "drawing").values()
    assert drawing.endswith(" --out report/parts/curve.svg --no-figures")


def test_axes_and_twins(tmp_path):
    table = planned(tmp_path, "sweep")
    assert [row.name for row in table.rows] == [
        "tdo+N=1", "tdo+N=3", "tdo+N=4", "tdo+size=small", "tdo+size=wide",
    ]  # fmt: skip
    assert [row.label for row in table.rows][-2:] == ["like small", "like wide"]
    assert table.goals == []


def test_keys_follow_what_a_step_depends_on_and_not_where_it_is(tmp_path):
    def keys(folder, **given):
        table = planned(folder, "table1", "toy", 1, "tdo", **given)
        graph = table.plan.graph
        return {step.name: graph.key(step.name) for step in graph.closure(table.goals)}

    first = keys(tmp_path / "a")
    assert first == keys(tmp_path / "b")
    other = keys(tmp_path / "c", form="disjoint")
    assert all(first[name] != key for name, key in other.items())
    seeds = planned(tmp_path, "table1", "toy", 2, "tdo").plan.graph
    assert seeds.key("tdo/training") == first["tdo/training"]
    assert seeds.key("tdo+seed=2/training") != first["tdo/training"]


@pytest.mark.parametrize("old", ['label = "like {label}"', 'title = "Two systems"'])
def test_other_decoding_begins_with_no_output_and_trains_nothing(tmp_path, old):
    """Of what several translate to one folder, which refuses what is made otherwise."""
    first = planned(tmp_path, "table1", "toy", 1, "tdo")
    for step in first.plan.graph.closure(first.goals):
        record = first.plan.graph.record(step.name)
        record.begin(())
        for leaf in step.leaves[:1]:
            leaf.mkdir(parents=True)
        record.end(1)
    assert to_do(first.plan.graph, first.goals) == []
    said = 'translate = "--beam 7"' if "label" in old else 'protocol = "opus100"'
    other = planned(tmp_path, "table1", "toy", 1, "tdo", text=TEXT.replace(old, f"{old}\n{said}"))
    steps = to_do(other.plan.graph, other.goals)
    assert [step.kind for step in steps] == ["output", "translation", "scores", "report"]
    assert steps[0].leaves == (tmp_path / "run/tdo/output",) and steps[1].leaves == ()
    other.plan.graph.record(steps[0].name).begin(steps[0].leaves)
    assert not (tmp_path / "run/tdo/output").exists()


OWN = '[tables.own.rows]\n"base" = { label = "beam 8", translate = "--beam 8" }\n'


def test_two_rows_of_one_name_are_not_taken_for_each_other(tmp_path, refused):
    table = planned(tmp_path, "own", text=TEXT + OWN)
    assert words(table, "translation")["base/output/all"].endswith(" --beam 8")
    with refused.raised("one output in two ways", names="base/output"):
        PlannedTable(table.plan, "table1")


@pytest.mark.parametrize("place", ["../../victim", "/victim", "masks/../../victim", ".steps", "."])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('at = "masks/{threshold}.masks"', 'at = "PLACE"'),
        ('[made.masks]', '[made.masks]\nbeside = ["PLACE"]'),
        ('out = "curve"', 'out = "PLACE"'),
        ("each = { label", '"PLACE" = { translate = "--beam 2", label'),
        ('[let]', '[let]\nblock = "PLACE"'),
    ],
)  # fmt: skip
def test_places_are_below_the_runs_folder(tmp_path, place, old, new):
    assert TEXT.count(old) == 1
    text = TEXT.replace(old, new.replace("PLACE", place))
    with pytest.raises(UserError, match=r"must be a path below the run folder"):
        planned(tmp_path, "parts", text=text)


def test_what_no_run_has_begun_is_left_alone(tmp_path, refused):
    table = planned(tmp_path, "table1")
    graph, steps = table.plan.graph, table.plan.graph.closure(table.goals)
    own = tmp_path / "run" / "text" / "data"
    own.mkdir(parents=True)
    refuse_foreign(graph, steps)  # an empty folder is nobody's
    (own / "dict.txt").touch()
    with refused.raised("data of something else", names=own):
        refuse_foreign(graph, steps)
    graph.record("text/data").begin(())  # as by a run that was killed, or had another key
    refuse_foreign(graph, steps)
    graph.record("tdo/training").begin(())
    for name in ("tdo", "base"):
        refuse_foreign(graph, steps)
        (tmp_path / "run" / name).mkdir()
        (tmp_path / "run" / name / "average.pt").touch()
    with refused.raised("a training of something else", names="average.pt"):
        refuse_foreign(graph, steps)


def test_a_data_folder_that_is_there(tmp_path):
    """Nothing is made of it; what is trained on other data is another training."""
    text = TEXT.replace("[corpora.text]", '[corpora.text]\ndata = "{input.from}"')
    text = text.replace('option = "--from-file"\n', "")
    (tmp_path / "data").mkdir()

    def planned(mark):
        (tmp_path / "data" / "prepared.json").write_text(mark)
        setting = setting_of(document(tmp_path, text), "toy", {})
        inputs = Inputs({"from": tmp_path / "data"})
        return PlannedTable(Plan(setting, tmp_path / "run", inputs), "table1", ("tdo",))

    table = planned("{}")
    (data,) = steps(table, "data").values()
    assert (data.commands, data.leaves) == ((), ())
    for kind in ("training", "translation", "scores"):
        (step,) = steps(table, kind).values()
        assert str(tmp_path / "data") in step.commands[0]
        assert f"{tmp_path}/run/text" not in " ".join(step.commands[0])
    other = planned('{"seed": 2}').plan.graph
    assert other.key("tdo/training") != table.plan.graph.key("tdo/training")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("tdo translate x --user-dir code --out {out}", "--user-dir"),
        ("tdo translate x --user-dir=code --out {out}", "--user-dir"),
        ("python /tmp/mine.py {out}", "/tmp/mine.py"),
        ("python benchmarks/../mine.py {out}", "benchmarks/"),
    ],
)
def test_a_file_runs_no_code_of_others(tmp_path, refused, command, names):
    made = "tdo neurons allocate {checkpoint:{before}} --threshold {threshold} --out {out}"
    with refused.raised("code of others", names):
        planned(tmp_path, "parts", text=TEXT.replace(made, command))
