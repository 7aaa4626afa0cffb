"""Files of experiments: what is refused, with its place; and the files that come along."""

import pytest
from support.covering import mostly_full
from support.experiments import TEXT, document

from tdo_plugin.cli.reproduce_plan import check_commands
from tdo_plugin.experiments.library import FOLDER, find, names, setting_of
from tdo_plugin.experiments.plan import Inputs, Plan
from tdo_plugin.experiments.tables import PlannedTable

MISTAKES = [
    ("[scales.toy]", "[scales.toy", "mine.toml must be TOML"),
    ('baseline = "*ase"', "baseline = 3", "baseline must be of type str"),
    ('corpus = "text"', 'corpus = "texts"', "systems.base.corpus"),
    ('base = ["tdo"]', 'base = ["two"]', "systems.large.base"),
    ('axes = ["size"]', 'axes = ["sizes"]', "tables.sweep.axes"),
    ('continues = "restore"', 'continues = "on"', "systems.robt.continues"),
    ('losses = "authors"\n', 'loses = "authors"\n', "loses"),
    ('title = "all"', 'titel = "all"', "titel"),
    ('base = "toy"', 'base = "tiny"', "scales.smoke.base"),
    ("[systems.large]", '[systems.".."]', "'..'"),
    ("[axes.size.wide]", '[axes.size."a/b"]', "'a/b'"),
    (TEXT, "title = 3\n", "line 1: title"),
    ("lr = 0.0005", "lr = nan", "flags.lr must be finite; it is nan"),
    ("threshold = 0.7", "threshold = -inf", "systems.masked.let.threshold must be finite"),
    (TEXT, 'title = "x"\npapers = 3\n', "line 2: papers"),
]


def test_mistakes_are_said_with_their_line(tmp_path, refused):
    for old, new, part in MISTAKES:
        assert old in TEXT
        with refused.raised(new, names=part):
            document(tmp_path, TEXT.replace(old, new))
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    for name, part in (("opus10", "opus100"), ("none.toml", "none.toml"), ("bad.toml", "UTF-8")):
        with refused.raised(name, names=part):
            find(name if name == "opus10" else str(tmp_path / name))


@pytest.mark.parametrize("name", mostly_full(names()))
def test_files_that_come_along_resolve_at_every_scale(name, tmp_path):
    """And `tdo` takes their commands."""
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


def test_a_file_may_extend_another(tmp_path, refused):
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
    with refused.raised("a cycle", names="own.toml"):
        find(str(own))
    own.write_text('title = "Mine"\nextends = "opus1000"\n')
    with refused.raised("no such file", names="opus1000"):
        find(str(own))
