"""The scripts of the TPDM paper's tables: rows, commands, refusals, a few updates of all."""

import itertools
import re
import subprocess
from pathlib import Path

import pytest
from support.scripts import TABLES, dry_run, script, shown, trained

from tdo_plugin.evaluation.published import published

SCRIPTS = sorted(path.name for path in TABLES.glob("tpdm_*.sh"))
SCORED = [f"tpdm_table{number}.sh" for number in (1, 2, 3, 6, 7)]
TRAINED = ["tpdm_adversary.sh", "tpdm_figure1.sh", *SCORED, "tpdm_table4.sh"]


def scored(commands: list[list[str]]) -> dict[str, str]:
    """The folder of hypotheses by the system's name, of all `tdo score`."""
    folders = {}
    for words in commands:
        if words[0] == "score":
            folders |= dict(word.split("=") for word in words[1 : words.index("--data")])
    return folders


def test_there_is_a_script_for_each_table_the_curve_and_the_adversary() -> None:
    tables = [f"tpdm_table{table.table}.sh" for table in published("tpdm").tables]
    assert ["tpdm_adversary.sh", "tpdm_figure1.sh", *tables] == SCRIPTS


@pytest.mark.full
@pytest.mark.parametrize("name", SCORED)
def test_rows_are_those_of_the_paper_in_its_order(clone: Path, name: str) -> None:
    number = name.removeprefix("tpdm_table").removesuffix(".sh")
    table = next(entry for entry in published("tpdm").tables if entry.table == number)
    rows = [row.name for row in table.rows]
    commands = shown(clone, name, "full")
    assert [*scored(commands)] == rows
    for words in (words for words in commands if words[0] == "score"):
        assert words[words.index("--protocol") + 1] == "tpdm"
        assert words[words.index("--baseline") + 1] in rows
    (report,) = (words for words in commands if words[0] == "report")
    assert report[-1] == f"tpdm:{number}"


@pytest.mark.full
def test_rows_of_other_data_say_so(clone: Path) -> None:
    full, toy = (scored(shown(clone, "tpdm_table2.sh", scale)) for scale in ("full", "toy"))
    assert [*toy] == [f"like {row}" for row in full]


@pytest.mark.full
def test_each_corpus_has_its_data_and_table_1_both(clone: Path) -> None:
    commands = shown(clone, "tpdm_table1.sh", "full")
    prepared = {words[1]: words[words.index("--out") + 1] for words in commands[:2]}
    run = clone / "runs" / "tpdm-full"
    corpora = {"multiun": run / "multiun", "europarl": run / "europarl"}
    assert {"multiun", "europarl-de-fr"} == set(prepared)
    for system, flags in trained(clone, commands).items():
        assert flags["data"] == str(corpora[system.split("/")[0]] / "data")
    sheets = [words for words in commands if words[0] == "score"]
    for words, corpus in zip(sheets, corpora.values(), strict=True):
        assert words[words.index("--data") + 1] == str(corpus / "data")
    (report,) = (words for words in commands if words[0] == "report")
    assert report[1:3] == [str(run / "table1" / name / "scores.json") for name in corpora]
    assert len(shown(clone, "tpdm_table2.sh", "full")) == 1 + 4 + 3  # no MultiUN


@pytest.mark.full
def test_every_config_is_a_row_and_is_trained_once(clone: Path) -> None:
    folder = clone / "configs" / "tpdm-tables"
    configs = {path.relative_to(folder).as_posix() for path in folder.rglob("*.conf")}
    systems: dict[str, dict[str, str]] = {}
    for name in TRAINED:
        for system, flags in trained(clone, shown(clone, name, "toy")).items():
            assert systems.setdefault(system, flags) == flags, f"{system} of {name}"
            assert flags["config"] == f"tpdm-tables/{system}.conf"
    named = {flags["config"].removeprefix("tpdm-tables/") for flags in systems.values()}
    assert named == {name for name in configs if not name.startswith(("scales/", "adversary/"))}


@pytest.mark.full
def test_pivots_are_a_row_s_model_taken_twice(clone: Path) -> None:
    commands = shown(clone, "tpdm_table1.sh", "full", "--rows", "europarl/piv-m-base")
    assert [*trained(clone, commands)] == ["europarl/mnmt-base"]
    (output,) = scored(commands).values()
    assert output.endswith("/europarl/piv-m-base/output")


@pytest.mark.full
def test_probes_compare_the_residual_cut_with_tpdm(clone: Path) -> None:
    commands = shown(clone, "tpdm_table4.sh", "full", "--seeds", 2)
    probes = [words for words in commands if words[0] == "probe"]
    for number, words in enumerate(probes):
        paths = [b for a, b in itertools.pairwise(words) if a == "--path"]
        end = "-seed-2" * number + "/average.pt"
        run = clone / "runs" / "tpdm-full"
        assert paths == [
            f"RC={run}/multiun/mnmt-rc-base{end}",
            f"TPDM={run}/multiun/mnmt-tpdm-base{end}",
        ]
    outs = [words[words.index("--out") + 1] for words in probes]
    assert outs == [str(run / "table4"), str(run / "table4" / "seed-2")]


@pytest.mark.full
def test_seeds_are_trainings_of_their_own(clone: Path) -> None:
    rows = ("--rows", "europarl/piv-m-small,europarl/mnmt-small")
    commands = shown(clone, "tpdm_table1.sh", "full", "--seeds", 3, *rows)
    systems = trained(clone, commands)
    seeds = {name: flags.get("--seed") for name, flags in systems.items()}
    base = "europarl/mnmt-small"
    assert seeds == {base: None, f"{base}-seed-2": "2", f"{base}-seed-3": "3"}
    assert {flags["config"] for flags in systems.values()} == {f"tpdm-tables/{base}.conf"}
    run = clone / "runs" / "tpdm-full" / "europarl"
    ends = ("", "-seed-2", "-seed-3")
    assert scored(commands) == {
        f"Europarl: {name}, seed {number}": str(run / f"{folder}{end}" / "output")
        for name, folder in (("PIV-M (small)", "piv-m-small"), ("MNMT-small", "mnmt-small"))
        for number, end in enumerate(ends, 1)
    }
    (score,) = (words for words in commands if words[0] == "score")
    assert score[score.index("--baseline") + 1].endswith(", seed 1")


@pytest.mark.full
def test_full_says_its_hours_first(clone: Path) -> None:
    lines = dry_run("tpdm_table7.sh", "full").splitlines()
    hours = [re.match(r"(\d+) trainings, .* GPU hours: an estimate", line) for line in lines]
    assert [match[1] for match in hours if match] == ["8"]
    systems = [line for line in lines if re.match(r" +\d+ +europarl/mnmt", line)]
    assert [" 300,000 " in line for line in systems] == [True] * 8


@pytest.mark.full
def test_table_8_counts_the_paper_s_sizes_and_measures_both(clone: Path) -> None:
    output = dry_run("tpdm_table8.sh", "full")
    described = [line for line in output.splitlines() if line.startswith("+ tdo describe")]
    assert ["--tdo-tpdm-layer" in line for line in described] == [False, True, False, True]
    assert all("--vocab-size 49320" in line for line in described)
    measured = [line for line in output.splitlines() if "disentangling.py" in line]
    assert [re.search(r"--size (\w+)", line)[1] for line in measured] == ["small", "base"]  # type: ignore[index]
    assert all("--batch-tokens 8000" in line for line in measured)


@pytest.mark.full
@pytest.mark.parametrize("words", [["toy"], ["multi30k"], ["multi30k", "--updates", "500"]])
def test_the_last_update_is_a_candidate(clone: Path, words: list[str]) -> None:
    for flags in trained(clone, shown(clone, "tpdm_table3.sh", *words)).values():
        updates = int(flags["--max-update"])
        assert "--updates" not in words or updates == 500
        assert flags["--save-interval-updates"] == flags["--validate-interval-updates"]
        # at the end of an epoch nothing is kept
        assert int(flags["--validate-interval"]) > updates < int(flags["--save-interval"])
        assert updates % int(flags["--validate-interval-updates"]) == 0


@pytest.mark.full
def test_rows_with_l_d_take_what_the_adversary_needs_at_small_scales(clone: Path) -> None:
    """What a row leaves out, its scale does not bring back."""
    names = ("tpdm_adversary.sh", "tpdm_table1.sh", "tpdm_table2.sh")
    systems: dict[str, dict[str, str]] = {}
    for name in names:
        systems |= trained(clone, shown(clone, name, "toy", "--updates", "1500"))
    late = {"--tpdm-disentangle-start": "750", "--tpdm-disentangle-warmup": "250"}
    game = {"--tpdm-generator-steps": "5", "--tpdm-disentangle-weight": "0.1"}
    detached = {"--tpdm-detach-positional": ""}

    def taken(system: str) -> dict[str, str]:
        flags = systems[system]
        if detached.keys() <= flags.keys():  # has no value
            flags |= detached
        return {key: value for key, value in flags.items() if key in late | game | detached}

    assert taken("multiun/mnmt-gtpdm-base") == late | game | detached
    assert taken("europarl/mnmt-tpdm-small-sinusoidal-anchor") == late | game | detached
    assert taken("europarl/mnmt-tpdm-small-without-l_p") == late | game
    assert taken("multiun/adversary-late-5-steps") == late
    for name in ("mnmt-small", "mnmt-tpdm-small-without-l_d", "adversary-as-printed"):
        assert taken(f"multiun/{name}") == {}
    starts = {name: flags.get("--tdo-init") for name, flags in systems.items()}
    assert {starts[name] for name in starts if "-base" in name} == {"depth-scaled"}
    assert {starts[name] for name in starts if "-base" not in name} == {None}
    full = trained(clone, shown(clone, "tpdm_table1.sh", "full"))
    ours = {"--tdo-init": "", **late, **game, **detached}
    assert not any(key in flags for flags in full.values() for key in ours)


@pytest.mark.full
@pytest.mark.parametrize(
    ("words", "system", "least"),
    [
        (["toy"], "multiun/mnmt-base", 2000),
        (["toy", "--updates", "750"], "multiun/adversary-late", 500),
        (["multi30k"], "europarl/mnmt-tpdm-small", 1000),
        (["full"], "multiun/mnmt-tpdm-small", 0),
        (["full"], "multiun/adversary-late-5-steps-seed-2", 333_000),
    ],
)
def test_no_checkpoint_is_chosen_before_l_d_has_its_weight(
    clone: Path, words: list[str], system: str, least: int
) -> None:
    """And every validation is there for the curves and to resume from."""
    source = clone / "scripts" / "tables" / "tpdm.sh"
    code = f"""
      source "{source}"; row multiun/x x; read_options {" ".join(words)}
      tdo() {{ "$VENV/bin/python" -m tdo_plugin "$@"; }}; scale_$kind
      [[ -z $asked ]] || train_for "$asked"
      chosen_from {system}
    """
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == least
    flags = trained(clone, shown(clone, "tpdm_figure1.sh", *words)).values()
    assert not any("--validate-after-updates" in options for options in flags)
    kept = {options.get("--keep-interval-updates") for options in flags}
    assert kept == ({None} if words == ["full"] else {"-1"})  # full: as the configs say


@pytest.mark.full
def test_figures_are_shown_too(clone: Path) -> None:
    for name, layers in (("tpdm_figure1.sh", False), ("tpdm_adversary.sh", True)):
        commands = shown(clone, name, "toy")
        (curve,) = (words for words in commands if words[0] == "curve")
        (probe,) = (words for words in commands if words[0] == "probe")
        systems = trained(clone, commands)
        assert len([word for word in curve if word.endswith("validation.jsonl")]) == len(systems)
        assert len([word for word in probe if "=" in word]) == len(systems)
        assert ("--layers" in probe) == layers


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_explains_the_script_and_its_options(clone: Path, name: str) -> None:
    output = script(clone, name, "--help").stdout
    for text in (f"scripts/tables/{name}", "multi30k", "--smoke", "--dry-run", "Chen et al."):
        assert text in output
    assert "set -euo" not in output


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("table1", ["big"], "the scale must be toy, multi30k or full; it is big"),
        ("table1", ["--fast"], "`--fast` is not an option of this script"),
        ("table1", ["--seeds"], "`--seeds` must be followed by its value"),
        ("table1", ["--seeds", "0"], "`--seeds` must be a whole number above 0; it is 0"),
        ("table1", ["--rows", "multiun/mnmt-huge"], "multiun/mnmt-huge is none of them"),
        ("table1", ["--updates", "150"], "`--updates` must be a multiple of 250; it is 150"),
        ("table1", ["full", "--smoke"], "`--smoke` must come with the scale toy; it is full"),
        ("table1", ["full", "--from", "/no/such"], "`--from` must be a folder with archives"),
        ("table8", ["--rows", "multiun/mnmt-small"], "`--rows` is not an option of this script"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(clone: Path, name: str, words: list[str], message: str) -> None:
    result = script(clone, f"tpdm_{name}.sh", *words, code=1)
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert not (clone / "runs").exists()


@pytest.mark.full
def test_a_few_updates_of_every_row_of_all_tables(clone: Path, tmp_path: Path) -> None:
    """Tables share the run folder, so that each system is trained once."""
    run = tmp_path / "run"
    begun = 0
    for name in TRAINED:
        output = script(clone, name, "--smoke", "--out", run).stdout
        begun += output.count("training begins")
    logs = sorted(run.rglob("train.log"))
    assert len(logs) == begun == 28
    for log in logs:
        assert "@ 2 updates" in log.read_text(), log
        for name in ("checkpoint_best.pt", "checkpoint_last.pt", "validation.jsonl"):
            assert (log.parent / "checkpoints" / name).is_file(), log
    assert not list(run.rglob("scores.json"))


@pytest.mark.full
def test_table_8_in_small(clone: Path, tmp_path: Path) -> None:
    output = script(clone, "tpdm_table8.sh", "--smoke", "--out", tmp_path / "run").stdout
    assert "30.781 million parameters, 30.781 in the paper" in output
    assert "94.642 million parameters, 94.642 in the paper" in output
    assert "31.046 million parameters, 31.046 in the paper" in output
    assert "95.696 million parameters, 95.696 in the paper" in output
    assert len(re.findall(r"TPDM .* times a plain one", output)) == 4
    assert (tmp_path / "run" / "table8" / "table8.txt").read_text() == output
