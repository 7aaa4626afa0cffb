"""The scripts of the neuron allocation tables and figures: rows, steps, a few updates of all."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest
from support.scripts import TABLES, dry_run, script, shown, trained

from tdo_plugin.evaluation.published import published

SCRIPTS = sorted(path.name for path in TABLES.glob("neurons_*.sh"))
SCORED = [name for name in SCRIPTS if name not in ("neurons_figure2.sh", "neurons_figure3.sh")]
TRAINED_ON = "multilingual, trained on"  # the paper has no such row


def value(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


def scored(commands: list[list[str]]) -> dict[str, str]:
    """The folder of hypotheses by the system's name."""
    (words,) = (words for words in commands if words[0] == "score")
    return dict(word.rsplit("=", 1) for word in words[1 : words.index("--data")])


def test_there_is_a_script_for_each_table_and_figure() -> None:
    tables = [f"neurons_table{table.table}.sh" for table in published("neurons").tables]
    figures = [f"neurons_figure{number}.sh" for number in (2, 3, 4, 5, 6)]
    assert sorted([*tables, *figures]) == SCRIPTS


@pytest.mark.full
@pytest.mark.parametrize("number", ["1", "2", "3"])
def test_rows_are_those_of_the_paper_in_its_order(clone: Path, number: str) -> None:
    table = next(entry for entry in published("neurons").tables if entry.table == number)
    commands = shown(clone, f"neurons_table{number}.sh", "full")
    rows = [name for name in scored(commands) if name != TRAINED_ON]
    assert rows == [row.name for row in table.rows]
    (report,) = (words for words in commands if words[0] == "report")
    assert report[-1] == f"neurons:{number}"
    (score,) = (words for words in commands if words[0] == "score")
    assert value(score, "--protocol") == "neurons"
    assert value(score, "--baseline") in scored(commands)


@pytest.mark.full
def test_three_steps_follow_each_other(clone: Path) -> None:
    """Pre-training, importance and masks of it, training on from it with these."""
    rows = "one-to-many/masked-taylor-0.9-0.7-pair,one-to-many/expansion-masked-taylor-0.9-0.7-pair"
    commands = shown(clone, "neurons_table2.sh", "toy", "--rows", rows, "--seeds", 2)
    systems = trained(clone, commands)
    order = [words[0] for words in commands]
    steps = [name for name, _ in itertools.groupby(order) if name in ("train", "importance")]
    assert steps[:2] == ["train", "importance"] and steps[-1] == "train"
    run = clone / "runs" / "neurons-toy" / "one-to-many"
    measured = {}
    for words in (words for words in commands if words[0] == "importance"):
        measured[value(words, "--out")] = value(words, "--path")
        assert value(words, "--pairs") == "en-de,en-fr,en-es,en-ru,en-ja,en-tr"
    averages = [words for words in commands if words[0] == "average"]
    averaged = {value(words, "--output"): value(words, "--best") for words in averages}
    allocated = {value(words, "--out"): words for words in commands if words[0] == "allocate"}
    masked = {name: flags for name, flags in systems.items() if "masked" in name}
    assert len(masked) == 4
    for name, flags in masked.items():
        base = name.split("/")[1].replace("masked-taylor-0.9-0.7-pair", "multilingual")
        base = base.replace("expansion-multilingual", "expansion")
        masks = flags["--tdo-neuron-masks"]
        assert masks == f"{run}/neurons/{base}/taylor-0.9-0.7-pair.masks"
        words = allocated[masks]
        assert (value(words, "--general"), value(words, "--threshold")) == ("0.9", "0.7")
        assert words[1] == f"{run}/neurons/{base}/taylor.importance"
        start = f"{run}/{base}/average.pt"  # what the row of the multilingual model decodes with
        assert averaged[start] == "1"
        assert measured[words[1]] == flags["--finetune-from-model"] == start
        assert "--restore-file" not in flags
        seeds = {flags.get("--seed"), systems[f"one-to-many/{base}"].get("--seed")}
        assert len(seeds) == 1


def test_neurons_are_measured_after_the_relu_or_before_it(clone: Path) -> None:
    """Of AV alone; both are rows and systems of their own."""
    methods = ("absolute", "taylor")
    sides: dict[str, list[str]] = {}
    for side, suffix in (("after", ""), ("before", "-before")):
        kind = f"absolute-0.9-0.7-pair{suffix}"
        rows = f"many-to-many/masked-{kind},many-to-many/masked-taylor*"
        words = ("--inner", side) if suffix else ()
        commands = shown(clone, "neurons_table1.sh", "toy", "--rows", rows, *words)
        measured = {
            value(words, "--method"): words for words in commands if words[0] == "importance"
        }
        assert [value(measured[method], "--inner") for method in methods] == [side, "after"]
        file = value(measured["absolute"], "--out")
        assert Path(file).name == f"absolute{suffix}.importance"
        masks = trained(clone, commands)[f"many-to-many/masked-{kind}"]["--tdo-neuron-masks"]
        assert Path(masks).name == f"{kind}.masks"
        (allocate,) = (words for words in commands if words[0] == "allocate" and file in words)
        assert value(allocate, "--out") == masks
        sides[side] = list(scored(commands))
    assert sides["after"] == ["like neurons, AV", "like neurons, TE"]
    assert sides["before"] == ["like neurons, AV before the ReLU", "like neurons, TE"]
    done = script(clone, "neurons_table1.sh", "toy", "--inner", "both", code=1)
    assert "`--inner` must be after or before; it is both" in done.stderr


def keys(clone: Path, run: Path, *words: str) -> dict[str, str]:
    """What tells trainings of table 1's rows apart, of a folder with a trained plain model."""
    (run / "many-to-many" / "multilingual").mkdir(parents=True, exist_ok=True)
    (run / "many-to-many" / "multilingual" / "trained").write_text("x")
    (run / "many-to-many" / "data").mkdir(exist_ok=True)
    (run / "many-to-many" / "data" / "prepared.json").write_text("{}")
    code = f"""
      source "{clone / "scripts" / "tables"}/neurons.sh"
      main_rows many-to-many; read_options toy --out "{run}" "$@"
      tdo() {{ echo "$*"; }}
      updates=2 configs=$CONFIGS data=$run/data
      for one in "${{rows[@]:1}}"; do echo "${{one#*/}} $(key_of "$one")"; done
    """
    done = subprocess.run(
        ["bash", "-c", code, "bash", *words], capture_output=True, text=True, check=True
    )
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_where_neurons_are_measured_retrains_nothing(clone: Path, tmp_path: Path) -> None:
    """Nor does a folder that moves."""
    after, before = (keys(clone, tmp_path / "a", "--inner", side) for side in ("after", "before"))
    absolute = "masked-absolute-0.9-0.7-pair"
    assert list(after) == [
        *("multilingual", "continued", "target-specific", "adapter", absolute),
        "masked-taylor-0.9-0.7-pair",
    ]
    assert {name: before[name] for name in set(after) - {absolute}} == {
        name: key for name, key in after.items() if name != absolute
    }
    assert before[f"{absolute}-before"] != after[absolute]
    assert len(set(after.values())) == len(after)
    assert keys(clone, tmp_path / "b") == after


@pytest.mark.full
def test_the_plain_model_is_trained_on_for_as_many_updates(clone: Path) -> None:
    systems = trained(clone, shown(clone, "neurons_table1.sh", "toy"))
    masked = systems["many-to-many/masked-taylor-0.9-0.7-pair"]
    plain = systems["many-to-many/continued"]
    differ = {key for key in masked | plain if masked.get(key) != plain.get(key)}
    assert differ == {"config", "--save-dir", "--tdo-neuron-masks"}
    updates = {name.split("/")[1]: int(flags["--max-update"]) for name, flags in systems.items()}
    both = updates["multilingual"] + updates["continued"]
    assert both == updates["target-specific"] == updates["adapter"]


@pytest.mark.full
def test_one_model_for_each_direction(clone: Path) -> None:
    commands = shown(clone, "neurons_table1.sh", "full", "--rows", "many-to-many/individual")
    systems = trained(clone, commands)
    pairs = ["it-en", "en-it", "ro-en", "en-ro", "nl-en", "en-nl", "it-ro", "ro-it"]
    assert [flags["--lang-pairs"] for flags in systems.values()] == pairs
    configs = {flags["config"] for flags in systems.values()}
    assert configs == {"neurons-tables/many-to-many/individual.conf"}


@pytest.mark.full
def test_every_config_is_a_row_and_is_trained(clone: Path) -> None:
    folder = clone / "configs" / "neurons-tables"
    configs = {path.relative_to(folder).as_posix() for path in folder.rglob("*.conf")}
    systems: dict[str, dict[str, str]] = {}
    for name in SCRIPTS:
        for system, flags in trained(clone, shown(clone, name, "toy")).items():
            assert systems.setdefault(system, flags) == flags, f"{system} of {name}"
    named = {flags["config"].removeprefix("neurons-tables/") for flags in systems.values()}
    assert named == {name for name in configs if not name.startswith("scales/")}


@pytest.mark.full
@pytest.mark.parametrize("words", [["toy"], ["multi30k"], ["multi30k", "--updates", "500"]])
def test_the_last_update_is_a_candidate(clone: Path, words: list[str]) -> None:
    for flags in trained(clone, shown(clone, "neurons_table1.sh", *words)).values():
        assert flags["--save-interval-updates"] == flags["--validate-interval-updates"]
        assert int(flags["--max-update"]) % int(flags["--validate-interval-updates"]) == 0


@pytest.mark.full
def test_figures_have_a_place_for_every_system(clone: Path) -> None:
    for number, label, rows in ((4, "k", 19), (5, "ablated", 5), (6, "neurons allocated by", 5)):
        commands = shown(clone, f"neurons_figure{number}.sh", "full")
        systems = scored(commands)
        assert len(systems) == rows
        (sweep,) = (words for words in commands if words[0] == "analyze")
        assert value(sweep, "--x-label") == label
        places = [word.split("=")[0] for word in sweep if "=" in word]
        assert value(sweep, "--baseline") in systems
        (score,) = (words for words in commands if words[0] == "score")
        assert value(score, "--baseline") in systems
        assert len(sweep[sweep.index("--x") + 1 : sweep.index("--x-label")]) == rows - 1, places


def test_erasures_are_those_of_the_paper(clone: Path) -> None:
    source = clone / "scripts" / "tables"
    code = f"""
      source "{source}/neurons.sh"; source "{source}/neurons/ablated.sh"
      row "many-to-many/$(masked taylor)" TE; read_options full --seeds 2 --out /run
      ablations "${{rows[0]}}"; runs_of "${{rows[0]}}" TE | tail -n 2
    """
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    system, pairs = "many-to-many/masked-taylor-0.9-0.7-pair", ("it-en", "ro-it", "en-ro")
    erasures = ["general --general 0.2"]
    erasures += [f"specific-{pair} --specific 0.5 --pair {pair}" for pair in pairs]
    expected = [f"{system}{seed} {what}" for seed in ("", "-seed-2") for what in erasures]
    last = [f"TE without specific-{pair}, seed 2=/run/{system}-seed-2/ablated/" for pair in pairs]
    expected += [f"{line}specific-{pair}/output" for line, pair in zip(last, pairs, strict=True)][
        1:
    ]
    assert done.stdout.splitlines() == expected


@pytest.mark.full
def test_full_says_its_hours_first(clone: Path) -> None:
    lines = dry_run("neurons_table3.sh", "full").splitlines()
    hours = [re.match(r"(\d+) trainings?, .* GPU hours: an estimate", line) for line in lines]
    assert [match[1] for match in hours if match] == ["4"]


@pytest.mark.full
def test_a_few_updates_of_every_system(clone: Path) -> None:
    """All three steps, on a tiny corpus; a second run finds everything there."""
    sweep = ["many-to-many/masked-taylor-0.9-0-pair", "many-to-many/masked-absolute-0.9-1-pair"]
    expansion = ["one-to-many/expansion-masked-taylor-0.9-0.7-pair"]
    for name, rows in (("figure4", sweep), ("figure6", []), ("table1", []), ("table2", expansion)):
        words = (f"neurons_{name}.sh", "--smoke", "--threads", 1)
        script(clone, *words, *(["--rows", ",".join(rows)] if rows else []))
    again = script(clone, *words, "--rows", ",".join(expansion)).stdout
    assert "training begins" not in again and "trained already" in again
    runs = clone / "runs" / "neurons-smoke"
    assert (runs / "one-to-many/neurons/expansion/taylor-0.9-0.7-pair.masks").is_file()
    trained_models = {path.parent.parent.name for path in runs.glob("*/*/checkpoints/*last.pt")}
    rest = ["target-specific", "adapter", "masked-taylor-0.9-0.7-separate", "expansion"]
    assert trained_models.issuperset([*(Path(name).name for name in sweep), *rest])


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_explains_the_script_and_its_options(clone: Path, name: str) -> None:
    output = script(clone, name, "--help").stdout
    for text in (f"scripts/tables/{name}", "multi30k", "--smoke", "--dry-run", "Xie et al."):
        assert text in output
    assert "set -euo" not in output
