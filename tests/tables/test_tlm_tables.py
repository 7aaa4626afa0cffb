"""The scripts of the TLM paper's tables: rows, commands, refusals, a few updates of all."""

import re
from pathlib import Path

import pytest
from support.configs import ROOT
from support.scripts import TABLES, dry_run, script, shown, trained

from tdo_plugin.evaluation.published import published
from tdo_plugin.evaluation.published import table as table_of

ROWS = {"tlm_table6.sh": "6", "tlm_table7.sh": "7", "tlm_table8.sh": "8"}
AXES = {"2": "task", "3": "mask", "4": "noise", "5": "schedule"}
GRIDS = [f"tlm_table{number}.sh" for number in ("9", *AXES)]
SCALES = ("toy", "multi30k", "full")


@pytest.mark.full
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ROWS)
def test_rows_are_those_of_the_paper_in_its_order(clone: Path, name: str, scale: str) -> None:
    table = next(table for table in published("tlm").tables if table.table == ROWS[name])
    commands = shown(clone, name, scale)
    (score,) = (words for words in commands if words[0] == "score")
    named = [word.partition("=")[0] for word in score[1 : score.index("--data")]]
    assert named == [row.name for row in table.rows]
    assert score[score.index("--protocol") + 1] == "tlm"
    assert score[score.index("--baseline") + 1] == named[0]
    (report,) = (words for words in commands if words[0] == "report")
    assert report[-1] == f"tlm:{ROWS[name]}"


@pytest.mark.full
def test_configs_are_rows(clone: Path) -> None:
    folder = clone / "configs" / "tlm-tables"
    configs = {path.relative_to(folder).as_posix() for path in folder.rglob("*.conf")}
    used = set()
    for name in ROWS:
        for flags in trained(clone, shown(clone, name, "toy")).values():
            used.add(flags["config"].removeprefix("tlm-tables/"))
    left = {name for name in configs - used if not name.startswith("scales/")}
    assert left == {"tlm.conf"}  # of the grid


def test_there_is_a_script_for_each_table() -> None:
    tables = [f"tlm_table{table.table}.sh" for table in published("tlm").tables]
    assert sorted(path.name for path in TABLES.glob("tlm_*.sh")) == tables


@pytest.mark.full
def test_rows_with_more_data_get_it(clone: Path) -> None:
    """Pairs are translated back by a model of the other direction, trained first."""
    commands = shown(clone, "tlm_table7.sh", "full")
    run = clone / "runs" / "tlm-full" / "mono"
    systems = trained(clone, commands)
    assert next(iter(systems)) == "mono/reverse"
    assert systems["mono/reverse"]["--lang-pairs"] == "en-zh"
    more = {
        name.removeprefix("mono/"): (flags.get("--monolingual"), flags.get("--back-translated"))
        for name, flags in systems.items()
    }
    lone, synthetic = str(run / "lone"), str(run / "synthetic")
    assert more == {
        "reverse": (None, None),
        "encoder-decoder": (None, None),
        "encoder-decoder-back-translation": (None, synthetic),
        "encoder-only": (None, None),
        "encoder-only-lm": (lone, None),
        "encoder-only-back-translation": (None, synthetic),
    }
    by_name = {
        words[0]: words for words in commands if words[0] in ("monolingual", "backtranslate")
    }
    for name, out in (("monolingual", lone), ("backtranslate", synthetic)):
        assert by_name[name][by_name[name].index("--out") + 1] == out
        assert f"en={run / 'alone'}" in by_name[name]
    few = shown(clone, "tlm_table7.sh", "full", "--rows", "mono/encoder-only")
    assert [words[0] for words in few] == ["prepare", "train", "score", "report"]


def test_what_explains_the_row_with_text_alone(clone: Path) -> None:
    """Each variant is its row's training, with what differs behind it."""
    trainings: dict[str, list[str]] = {}
    for words in shown(clone, "../benchmarks/text_alone.sh", "toy", "--updates", "500"):
        if words[0] == "train":
            place = words.index("--save-dir")
            name = Path(words[place + 1]).parent.name
            trainings[name] = words[:place] + words[place + 2 :]
    differences = {}
    for name, words in trainings.items():
        row, _, variant = name.partition("@")
        assert words[1].endswith(f"configs/tlm-tables/mono/{row}.conf")
        assert ("--monolingual" in words) == row.endswith("-lm")
        if variant:
            count = len(trainings[row])
            assert words[:count] == trainings[row]
            differences[name] = " ".join(words[count:])
    mixed = "--max-tokens 250 --update-freq 4"
    layout = '--langtoks {"main": (None, "tgt")} --lang-tok-replacing-bos-eos'
    unrebuilt = "--reconstruction-task lm --reconstruction-weight 0 --source-noise none"
    assert differences == {
        "encoder-only@pairs": "--max-update 390",
        "encoder-only-lm@pairs": "--max-update 640",
        "encoder-only@mixed": mixed,
        "encoder-only-lm@mixed": mixed,
        "encoder-only-lm@few": "--monolingual-share 0.05",
        "encoder-only@layout": layout,
        "encoder-only-lm@layout": layout,
        "encoder-only@unrebuilt": unrebuilt,
        "encoder-only-lm@unrebuilt": unrebuilt,
    }


def test_what_explains_that_row_has_two_scales(clone: Path) -> None:
    refused = script(clone, "../benchmarks/text_alone.sh", "full", "--dry-run", code=1)
    assert "the scale must be one of this script's; it is full" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.full
@pytest.mark.parametrize("name", GRIDS)
def test_grids_are_one_and_their_tables_differ(clone: Path, name: str) -> None:
    number = name.removeprefix("tlm_table").removesuffix(".sh")
    commands = shown(clone, name, "full")
    runs = [words for words in commands if words[:2] == ["grid", "run"]]
    assert [Path(words[3]).parent.name for words in runs] == ["de-en", "en-ro"]
    for words in (words for words in commands if words[:2] == ["grid", "collect"]):
        axis = words[words.index("--best-by") + 1] if "--best-by" in words else None
        assert axis == AXES.get(number)


def test_the_grid_is_the_paper_s() -> None:
    """All rows of table 9, of which cells without reconstruction need no task of it."""
    from tdo_plugin.grid.cells import cells_of, runs_of
    from tdo_plugin.grid.description import read_grid

    grid = read_grid(ROOT / "configs" / "tlm-tables" / "grid.json")
    cells = cells_of(grid)
    table = next(table for table in published("tlm").tables if table.table == "9")
    assert [cell.row for cell in cells] == [row.name for row in table.rows]
    assert (len(cells), len(runs_of(cells))) == (33, 29)
    assert list(grid.axes) == list(AXES.values())
    # the paper has schedules without their numbers
    for value in ("lin", "exp"):
        assert "--reconstruction-tau 0.2" in grid.axes["schedule"][value].lines
        assert value in grid.note
    assert grid.note.endswith("(ours).")
    for number, axis in AXES.items():
        beside = grid.best[axis]
        values = [beside.name({axis: value}) for value in grid.axes[axis]]
        printed = table_of(beside.published)
        assert ["encoder-decoder", *values] == [row.name for row in printed.rows]
        assert printed.table == number


@pytest.mark.full
def test_smoke_of_the_grid(clone: Path) -> None:
    """Two updates of each of the 32 variants, and of the encoder-decoder; tables share them."""
    first = script(clone, "tlm_table9.sh", "--smoke").stdout
    assert "29 of 29 runs are done" in first
    for number in AXES:
        again = script(clone, f"tlm_table{number}.sh", "--smoke").stdout
        assert "29 of 29 runs are done" in again
        assert "training begins" not in again


@pytest.mark.full
@pytest.mark.parametrize("scale", ["toy", "multi30k"])
def test_small_scales_keep_the_paper_s_ratios(clone: Path, scale: str) -> None:
    """As many parameters in the encoder-decoder as in the TLM of 15 layers; others in order."""
    systems = trained(clone, shown(clone, "tlm_table6.sh", scale))
    layers = {name: flags.get("--tdo-layers") for name, flags in systems.items()}
    assert list(layers.values()) == [None, "2", "3", "5", "7"]
    base = systems["de-en/encoder-decoder"]
    assert (base["--tdo-encoder-layers"], base["--tdo-decoder-layers"]) == ("2", "2")
    for flags in systems.values():
        assert int(flags["--tdo-ffn-dim"]) == 2 * int(flags["--tdo-model-dim"])
        assert flags["--lang-pairs"] == "de-en"
        updates = int(flags["--max-update"])
        assert updates % int(flags["--validate-interval-updates"]) == 0


@pytest.mark.full
def test_the_paper_s_sizes(clone: Path) -> None:
    output = dry_run("tlm_table6.sh", "full")
    counts = re.findall(r"(?m)^ +1 +de-en/\S+ +([\d.]+)M", output)
    sizes = [row.values[0] for row in published("tlm").tables[4].rows]
    # of a vocabulary of 10,000, to which the paper's adds some (notes of its table)
    assert [float(count) for count in counts] == pytest.approx(sizes, abs=0.35)
    growth = [b - a for a, b in zip(map(float, counts[1:]), map(float, counts[2:]), strict=False)]
    assert growth == pytest.approx([10.5] * 3, abs=0.11)
    assert float(counts[0]) == float(counts[3])


@pytest.mark.full
@pytest.mark.parametrize("name", ROWS)
def test_smoke(clone: Path, name: str) -> None:
    """Two updates of every row; then nothing is left to do."""
    script(clone, name, "--smoke")
    again = script(clone, name, "--smoke").stdout
    assert again.count("is trained already") == len(trained(clone, shown(clone, name, "--smoke")))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["huge"], "the scale must be toy, multi30k or full; it is huge"),
        (["--rows", "de-en/6-layers"], "`--rows` must be of de-en/encoder-decoder"),
        (["--updates", "100"], "`--updates` must be a multiple of 250; it is 100"),
        (["--seeds", "3"], "`--seeds` is not an option of this script"),
        (["full", "--smoke"], "`--smoke` must come with the scale toy; it is full"),
    ],
)
def test_refused(clone: Path, words: list[str], message: str) -> None:
    errors = script(clone, "tlm_table6.sh", *words, code=1).stderr
    assert message in errors
