"""Files of experiments: what is refused, with its place; and the files that come along."""

import pytest
from support.experiments import TEXT, document

from tdo_plugin.errors import UserError
from tdo_plugin.experiments.library import FOLDER, find, names, setting_of
from tdo_plugin.experiments.plan import Inputs, Plan


def line(text, part):
    return next(n for n, row in enumerate(text.split("\n"), 1) if part in row)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[scales.toy]", "[scales.toy", "mine.toml must be TOML; .*line 24"),
        ('baseline = "*plain"', "baseline = 3", "line {}: .*baseline must be of type str"),
        ('corpus = "text"', 'corpus = "texts"', "line {}: systems.base.corpus must be one of text"),
        ('base = ["tdo"]', 'base = ["two"]', "line {}: systems.large.base .* two is not"),
        ('axes = ["size"]', 'axes = ["sizes"]', "line {}: tables.sweep.axes .* sizes"),
        ('continues = "restore"', 'continues = "on"', "line {}: systems.robt.continues must be"),
        ('losses = "authors"\n', 'loses = "authors"\n', "conditions among .*; it has loses"),
        ('title = "all"', 'titel = "all"', "line {}: .*tables.table1 must .*titel does not match"),
        ('base = "toy"', 'base = "tiny"', "line {}: scales.smoke.base must be one of"),
        ("[systems.large]", '[systems.".."]', r"systems must have names of letters, .*; '..' is"),
        ("[axes.size.wide]", '[axes.size."a/b"]', r"axes.size must have names .*; 'a/b' is not"),
    ],
)
def test_mistakes_are_said_with_their_line(tmp_path, old, new, message):
    text = TEXT.replace(old, new)
    assert text != TEXT
    at = line(text, new) if "{}" in message else 0
    with pytest.raises(UserError, match=message.format(at)):
        document(tmp_path, text)


def test_a_table_of_the_file_that_there_is_not(tmp_path):
    with pytest.raises(UserError, match=r"mine.toml, line 1: title must be of type str"):
        document(tmp_path, "title = 3\n")
    with pytest.raises(UserError, match=r"mine.toml, line 2: papers must be one of"):
        document(tmp_path, 'title = "x"\npapers = 3\n')


def test_files_that_are_none(tmp_path):
    with pytest.raises(UserError, match=r"`EXPERIMENTS` must be a file, or one of .*opus100"):
        find("opus10")
    with pytest.raises(UserError, match=r"must be an experiment file; .*No such file"):
        find(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(UserError, match=r"must be an experiment file; .*not UTF-8"):
        find(str(tmp_path / "bad.toml"))


@pytest.mark.parametrize("name", names())
def test_files_that_come_along_resolve_at_every_scale(name, tmp_path):
    """And `tdo` takes their commands."""
    from tdo_plugin.cli.reproduce_plan import check_commands
    from tdo_plugin.experiments.tables import PlannedTable

    read = find(name)
    paths = {key: tmp_path for key, given in read.inputs.items() if given.needed}
    for scale in (key for key, described in read.scales.items() if described.help):
        plan = Plan(setting_of(read, scale, {}), tmp_path, Inputs(paths))
        for table, described in read.tables.items():
            if plan.setting.has(described.scales):
                planned = PlannedTable(plan, table)
                assert planned.goals, f"{table} at {scale}"
                for step in plan.graph.closure(planned.goals):
                    assert plan.graph.key(step.name)
        check_commands(plan, list(plan.graph))
    assert FOLDER.is_dir()


def test_a_file_may_extend_another(tmp_path):
    document(tmp_path)
    own = tmp_path / "own.toml"
    own.write_text(
        'title = "Mine"\nextends = "mine.toml"\n[scales.toy.flags]\nlr = 0.5\n'
        '[tables.own.rows]\n"tdo+N=2" = "two"\n'
    )
    read = find(str(own))
    assert (read.title, list(read.tables)) == ("Mine", ["own"])
    config = setting_of(read, "toy", {}).resolve("tdo+N=2").config(lambda *_: None)
    assert (config.flags["--lr"], config.flags["--max-update"]) == (["0.5"], ["100"])
    (tmp_path / "mine.toml").write_text('title = "x"\nextends = "own.toml"\n')
    with pytest.raises(UserError, match=r"`extends` must not form a cycle; own.toml does"):
        find(str(own))
    own.write_text('title = "Mine"\nextends = "opus1000"\n')
    with pytest.raises(UserError, match=r"must be a file, or one of .*; it is opus1000"):
        find(str(own))
