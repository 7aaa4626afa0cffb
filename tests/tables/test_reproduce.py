"""scripts/reproduce.sh with stand-ins for the table scripts: which it runs, and its page."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.score_sheets import sheet
from support.scripts import FIGURES, TABLES, make_clone

from tdo_plugin.evaluation.score_sheet import as_json

SCRIPTS = sorted([*TABLES.glob("*_*.sh"), *FIGURES.glob("*_*.sh")])
# notes its command line, and leaves what a table's script would
STAND_IN = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$SEEN"
[[ $* != *--smoke* ]] || exit 0
[[ $(basename "$0") != "${FAILS:-}" ]] || { echo "table: error: it failed" >&2; exit 1; }
out=$(sed 's/.*--out \\([^ ]*\\).*/\\1/' <<<"$*")
table=$(basename "$0" .sh)
table=${table#*_}
case $0 in
  */tlm_*) table=de-en/grid ;;
  */tdo_*) table+=/ted19 ;;
esac
mkdir -p "$out/$table"
cp "$SHEET" "$out/$table/scores.json"
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    root = tmp_path / "clone"
    root.mkdir()
    make_clone(root)
    for path in SCRIPTS:
        (root / path.relative_to(TABLES.parents[1])).write_text(STAND_IN)
    (tmp_path / "sheet.json").write_text(json.dumps(as_json(sheet())))
    return root


def reproduce(
    clone: Path, *words: object, code: int = 0, **settings: str
) -> subprocess.CompletedProcess[str]:
    places = {"SEEN": clone.parent / "seen", "SHEET": clone.parent / "sheet.json"}
    done = subprocess.run(
        ["bash", str(clone / "scripts" / "reproduce.sh"), *map(str, words)],
        env=os.environ | {key: str(value) for key, value in places.items()} | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def seen(clone: Path) -> list[list[str]]:
    return [line.split() for line in (clone.parent / "seen").read_text().splitlines()]


def test_smoke_runs_every_script_of_the_repository(clone: Path, tmp_path: Path) -> None:
    output = reproduce(clone, "--smoke", "--out", tmp_path / "run", "--jobs", 1).stdout
    assert sorted(words[0] for words in seen(clone)) == sorted(path.name for path in SCRIPTS)
    for name, *words in seen(clone):
        options = f"--smoke --out {tmp_path}/run/{name.split('_')[0]}".split()
        assert words in (options, [*options, "--jobs", "1", "--threads", "1"])
        assert f"{name}: " in output
        # the script itself takes them: what it does not know would end it before its help
        (script,) = (path for path in SCRIPTS if path.name == name)
        command = ["bash", script, *words, "--help"]
        helped = subprocess.run(command, capture_output=True, text=True, check=False)
        assert helped.returncode == 0, helped.stderr


def test_smoke_of_one_paper(clone: Path, tmp_path: Path) -> None:
    reproduce(clone, "--smoke", "--papers", "tpdm", "--out", tmp_path / "run")
    assert {words[0].split("_")[0] for words in seen(clone)} == {"tpdm"}


def test_a_scale_leaves_one_page_of_all_headline_tables(clone: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    reproduce(clone, "--scale", "toy", "--out", out)
    papers = ["tdo", "opus100", "tpdm", "tlm", "neurons"]
    assert [words[0].split("_")[0] for words in seen(clone)] == papers
    assert all("table" in words[0] and words[1] == "toy" for words in seen(clone))
    assert all("--rows" in words for words in seen(clone))
    page = (out / "index.html").read_text()
    for heading in ("TDO and InstruCL, table 1", "TLM, table 9", "Neuron allocation, table 1"):
        assert heading in page
    assert page.count("beside the published rows") >= 1


def test_whole_tables(clone: Path, tmp_path: Path) -> None:
    words = ("--scale", "multi30k", "--whole", "--papers", "tdo,tlm", "--from", tmp_path)
    reproduce(clone, *words, "--out", tmp_path / "run")
    assert [words[0] for words in seen(clone)] == ["tdo_table1.sh", "tlm_table9.sh"]
    for words in seen(clone):
        assert "--rows" not in words and words[1] == "multi30k"
        assert words[-2:] == ["--from", str(tmp_path)]


def test_rows_that_are_shown_are_rows_of_the_tables(tmp_path: Path) -> None:
    """The real scripts take them."""
    root = tmp_path / "clone"
    root.mkdir()
    make_clone(root)
    script = root / "scripts" / "reproduce.sh"
    for path in (root / "scripts" / "tables").glob("*_table*.sh"):
        text = path.read_text().replace('"$@"', '"$@" --dry-run')
        path.write_text(text)
    text = script.read_text().replace("tdo collect", "echo collect")
    script.write_text(text)
    done = subprocess.run(
        ["bash", str(script), "--scale", "toy", "--out", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    logs = {path.stem: path.read_text() for path in (tmp_path / "run" / "logs").iterdir()}
    trained = {name: text.count("+ tdo train") for name, text in logs.items()}
    assert trained == {
        "tdo_table1": 7,
        "opus100_table4": 8,
        "tpdm_table1": 4,
        "tlm_table9": 0,
        "neurons_table1": 4,
    }
    assert "--only encoder-decoder,LM-triangular-no-0," in logs["tlm_table9"].replace("\\", "")


def test_a_script_that_fails_says_where_its_log_is(clone: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = reproduce(clone, "--scale", "toy", "--out", out, code=1, FAILS="tpdm_table1.sh")
    log = out / "logs" / "tpdm_table1.log"
    assert done.stderr.splitlines() == [
        "table: error: it failed",
        f"reproduce.sh: error: tpdm_table1.sh failed; all of it is in {log}",
    ]
    assert not (out / "index.html").exists() and len(seen(clone)) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "`--scale` must be toy or multi30k, or `--smoke` be given; it is left out"),
        (
            ["--scale", "full"],
            "`--scale` must be toy or multi30k, or `--smoke` be given; it is full",
        ),
        (["--scale", "toy", "--smoke"], "`--smoke` must come without `--scale`"),
        (["--smoke", "--whole"], "`--whole` must come with `--scale`"),
        (["--scale", "toy", "--from", "/"], "`--from` must come with the scale multi30k"),
        (["--smoke", "--papers", "tdo,llm"], "`--papers` must be of tdo,opus100,tpdm,tlm,neurons"),
        (["--smoke", "--jobs", "0"], "`--jobs` must be a whole number above 0; it is 0"),
        (["--smoke", "--out"], "`--out` must be followed by its value; nothing follows it"),
        (["--fast"], "`--fast` is not an option of this script"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(clone: Path, words: list[str], message: str) -> None:
    result = reproduce(clone, *words, code=1)
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert not (clone.parent / "seen").exists() and not (clone / "runs").exists()
