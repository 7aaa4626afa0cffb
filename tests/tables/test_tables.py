"""The scripts of the OPUS-100 paper's tables: rows, commands, refusals, a few updates of all."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest
from support.scripts import TABLES, dry_run, script, shown, trained

from tdo_plugin.evaluation.published import published
from tdo_plugin.launch.training_config import read_config

SCRIPTS = sorted(path.name for path in TABLES.glob("opus100_*.sh"))
NUMBERED = [f"opus100_table{number}.sh" for number in range(2, 8)]


def test_there_is_a_script_for_each_table_and_for_the_curve() -> None:
    assert ["opus100_figure1.sh", *NUMBERED] == SCRIPTS


@pytest.mark.full
@pytest.mark.parametrize("name", NUMBERED)
def test_rows_are_those_of_the_paper_in_its_order(clone: Path, name: str) -> None:
    number = name.removeprefix("opus100_table").removesuffix(".sh")
    table = next(table for table in published("opus100").tables if table.table == number)
    (score,) = (words for words in shown(clone, name) if words[0] == "score")
    systems = [word.partition("=")[0] for word in score[1 : score.index("--data")]]
    assert systems == [row.name for row in table.rows]
    assert score[score.index("--protocol") + 1] == "opus100"
    baseline = score[score.index("--baseline") + 1]
    assert baseline.endswith("6 layers") or number == "7"


@pytest.mark.full
def test_every_config_is_a_row_and_is_trained_once(clone: Path) -> None:
    folder = clone / "configs" / "opus100-tables"
    configs = {path.relative_to(folder).as_posix() for path in folder.rglob("*.conf")}
    systems: dict[str, dict[str, str]] = {}
    for name in NUMBERED:
        for system, flags in trained(clone, shown(clone, name, "toy")).items():
            assert systems.setdefault(system, flags) == flags, f"{system} of {name}"
    named = {flags["config"].removeprefix("opus100-tables/") for flags in systems.values()}
    assert named == {name for name in configs if not name.startswith("scales/")}


@pytest.mark.full
def test_robt_goes_on_with_its_row(clone: Path) -> None:
    commands = shown(clone, "opus100_table7.sh", "toy")
    names = list(systems := trained(clone, commands))
    row = "many-to-many/6-layers-matt-laln-lalt"
    assert names == [row, f"{row}-robt", f"{row}-robt-6"]
    for name in names[1:]:
        before, after = systems[row], systems[name]
        assert after["--restore-file"] == f"{before['--save-dir']}/checkpoint_last.pt"
        assert int(after["--max-update"]) > int(before["--max-update"])
    assert "--restore-file" not in systems[row]
    assert systems[names[2]]["--robt-languages"] == "de,fr,es"
    assert "--robt-languages" not in systems[names[1]]
    folder = clone / "configs" / "opus100-tables"
    targets = [read_config(folder / f"{name}.conf").flags.get("--robt-targets") for name in names]
    assert targets == [None, None, ["listed"]]


@pytest.mark.full
def test_figure_1_is_measured_at_validations(clone: Path) -> None:
    before, after = trained(clone, shown(clone, "opus100_figure1.sh", "toy")).values()
    for flags, between in ((before, "600"), (after, "40")):
        assert flags["--eval-translation"] == "zero-shot"
        assert flags["--validate-interval-updates"] == between
        assert flags["--validate-after-updates"] == before["--max-update"] == "600"
        assert "--eval-subset" not in flags


@pytest.mark.full
def test_figure_1_at_full_is_of_robt_alone(clone: Path) -> None:
    """By test sets, as there are no others; the training before it is as without a figure."""
    before, after = trained(clone, shown(clone, "opus100_figure1.sh", "full")).values()
    assert set(before) == {"config", "data", "--save-dir", "--log-format", "--log-interval"}
    assert (after["--eval-translation"], after["--eval-subset"]) == ("zero-shot", "test")
    assert after["--validate-interval-updates"] == "1000"
    assert "--validate-after-updates" not in after  # it would hold checkpoints back as well
    base, config = (read_config(clone / "configs" / flags["config"]) for flags in (before, after))
    updates = config.integer("--max-update", 0) - base.integer("--max-update", 0)
    checkpoints = updates / config.integer("--save-interval-updates", 0)
    assert int(after["--keep-interval-updates"]) == checkpoints


def test_figure_1_is_drawn_of_what_was_measured(clone: Path, tmp_path: Path) -> None:
    """Of rows with ROBT, behind those that they go on with where these were measured, too."""
    code = f"""
      source "{clone / "scripts" / "tables"}/opus100.sh"
      for one in many-to-many/{{6-layers,6-layers-robt,12-layers-robt,24-layers-robt}}; do
        row $one "with ROBT: ${{one#*/}}"
      done
      read_options full --out "{tmp_path}"
      tdo() {{ printf '%s\\n' "$@"; }}
      VENV=/none draw_figures table6 zero-shot
      draw_figures table4 'en-*'
    """
    measured = ("6-layers", "6-layers-robt", "12-layers-robt", "24-layers")
    for name in measured:
        (tmp_path / "many-to-many" / name / "checkpoints").mkdir(parents=True)
        (tmp_path / "many-to-many" / name / "checkpoints" / "validation.jsonl").touch()
    (tmp_path / "table6").mkdir()
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    first, second, third = (
        tmp_path / "many-to-many" / name / "checkpoints" / "validation.jsonl"
        for name in measured[:3]
    )
    lines = [f"6-layers-robt={first}:{second}", f"12-layers-robt={third}"]
    assert done.stdout.splitlines() == ["curve", *lines]


@pytest.mark.full
def test_depths_follow_the_scale(clone: Path) -> None:
    toy = trained(clone, shown(clone, "opus100_table2.sh"))
    layers = {name: flags["--tdo-encoder-layers"] for name, flags in toy.items()}
    assert layers["one-to-many/6-layers"] == layers["bilingual/en-de"] == "2"
    assert layers["one-to-many/12-layers-matt"] == layers["bilingual-deeper/en-de"] == "4"
    assert layers["one-to-many/24-layers-matt-laln-lalt"] == "6"
    commands = shown(clone, "opus100_table2.sh", "full")
    full = trained(clone, commands)
    assert not any("--tdo-encoder-layers" in flags for flags in full.values())
    pairs = {flags["--lang-pairs"] for name, flags in full.items() if "bilingual/" in name}
    assert pairs == {"en-de", "en-zh", "en-br", "en-te"}
    (score,) = (words for words in commands if words[0] == "score")
    groups = [b.partition("=")[0] for a, b in itertools.pairwise(score) if a == "--group"]
    tables = [table for table in published("opus100").tables if table.table in ("2", "4")]
    assert groups == [table.columns[1].group for table in tables]


@pytest.mark.full
def test_pivots_take_two_bilingual_models(clone: Path) -> None:
    full = trained(clone, shown(clone, "opus100_table6.sh", "full", "--rows", "pivot"))
    assert len(full) == 12 and {"bilingual/ar-en", "bilingual/en-zh"} < set(full)


@pytest.mark.full
def test_full_says_its_hours_first(clone: Path) -> None:
    lines = dry_run("opus100_table7.sh", "full").splitlines()
    hours = [re.match(r"(\d+) trainings, .* GPU hours: an estimate", line) for line in lines]
    assert [estimate[1] for estimate in hours if estimate] == ["1", "2"]
    robt = next(line for line in lines if re.match(r" +1 .*-robt-6", line))
    assert " 100,000 " in robt  # another 100,000, not 600,000


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_explains_the_script_and_its_options(clone: Path, name: str) -> None:
    output = script(clone, name, "--help").stdout
    for text in (f"scripts/tables/{name}", "multi30k", "--smoke", "--dry-run", "Zhang et al."):
        assert text in output
    assert "set -euo" not in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["big"], "the scale must be toy, multi30k or full; it is big"),
        (["--fast"], "`--fast` is not an option of this script"),
        (["--rows"], "`--rows` must be followed by its value"),
        (["--rows", "pivot,7-layers"], "7-layers is none of them"),
        (["--jobs", "0"], "`--jobs` must be a whole number above 0; it is 0"),
        (["full", "--smoke"], "`--smoke` must come with the scale toy; it is full"),
        (["full", "--updates", "600"], "`--updates` must be left out with --smoke and"),
        (["multi30k", "--updates", "600"], "`--updates` must be a multiple of 750; it is 600"),
        (["full", "--from", "/no/such"], "`--from` must be a folder with archives"),
        (["--from", "/"], "`--from` must be left out with the scale toy"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(clone: Path, words: list[str], message: str) -> None:
    result = script(clone, "opus100_table6.sh", *words, code=1)
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert not (clone / "runs").exists()


@pytest.mark.full
def test_a_few_updates_of_every_row_of_all_tables(clone: Path, tmp_path: Path) -> None:
    """Tables share the run folder, so that each system is trained once."""
    begun = 0
    for name in NUMBERED:
        output = script(clone, name, "--smoke", "--out", tmp_path / "run").stdout
        begun += output.count("training begins")
    logs = sorted((tmp_path / "run").rglob("train.log"))
    assert len(logs) == begun == 26
    for log in logs:
        text, (base, robt, _) = log.read_text(), log.parent.name.partition("-robt")
        assert (log.parent / "checkpoints" / "checkpoint_last.pt").is_file(), log
        assert f"@ {4 if robt else 2} updates" in text, log
        before = log.parents[1] / base / "checkpoints" / "checkpoint_last.pt"
        assert (f"Loaded checkpoint {before}" in text) == bool(robt), log
    assert not list((tmp_path / "run").rglob("scores.json"))


@pytest.mark.full
@pytest.mark.parametrize(
    "words", [["toy"], ["multi30k"], ["multi30k", "--updates", "750"]], ids=" ".join
)
def test_the_last_update_has_a_checkpoint_to_test(clone: Path, words: list[str]) -> None:
    """Only checkpoints of a save interval are averaged."""
    for system, flags in trained(clone, shown(clone, "opus100_table6.sh", *words)).items():
        if "--updates" in words:
            assert flags["--max-update"] == ("1000" if "-robt" in system else "750")
        assert int(flags["--max-update"]) % int(flags["--save-interval-updates"]) == 0, system
