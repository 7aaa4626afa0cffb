"""The scripts of tables and figures, and all others that are a command of `tdo`."""

from pathlib import Path

import pytest
from support.configs import ROOT
from support.papers import RUN, TABLES
from support.scripts import DOORS, called, script

from tdo_plugin.experiments.library import PAPERS, find

NAMES = {"tdo": "Qu et al.", "opus100": "Zhang et al.", "tpdm": "Chen et al."}
NAMES |= {"tlm": "Gao et al.", "neurons": "Xie et al."}


def test_there_is_one_for_each_table_and_figure() -> None:
    assert sorted(path.stem for path in DOORS) == sorted("_".join(table) for table in TABLES)


@pytest.mark.parametrize("place", DOORS, ids=lambda place: place.stem)
def test_it_calls_its_table(place: Path) -> None:
    paper, table = place.stem.split("_")
    words = called(place, "toy", "--rows", "a b,full", "--smoke", "--out", "full")
    assert words == [
        *("reproduce", paper, table, "--scale", "toy", "--rows", "a b,full", "--scale=smoke"),
        *("--out", "full"),
    ]
    assert called(place) == ["reproduce", paper, table]
    *said, command, _, _, _ = called(place, "--help")
    assert NAMES[paper] in "".join(said[:3]) and command == "reproduce"
    assert said[-2:] == [
        f"  scripts/{place} [toy|multi30k|full|smoke] [OPTIONS of tdo reproduce]", ""
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "words", "expected"),
    [
        ("train.sh", "CONFIG DATA --gpus 2", "train CONFIG DATA --gpus 2"),
        ("slurm.sh", "CONFIG DATA --cpu", "train CONFIG DATA --cpu --slurm"),
        ("preprocess.sh", "TEXT DATA", "preprocess TEXT DATA"),
        ("quickstart.sh", "--fresh --out DIR", "quickstart --fresh --out DIR"),
        ("multi30k.sh", "--form disjoint", "reproduce multi30k --headline --form disjoint"),
        ("reproduce.sh", "--smoke --out DIR", "reproduce all --scale=smoke --out DIR"),
        ("reproduce.sh", "--scale toy --whole", "reproduce all --scale toy --whole"),
        ("reproduce.sh", "", "reproduce all"),
        ("reproduce.sh", "multi30k", "reproduce multi30k"),
        ("reproduce.sh", "tpdm table1 table2 full", "reproduce tpdm table1 table2 --scale full"),
        (
            "reproduce.sh",
            "tdo table1 multi30k-paper",
            "reproduce tdo table1 --scale multi30k-paper",
        ),
    ],
)
def test_others_are_a_command_too(place: str, words: str, expected: str) -> None:
    assert called(place, *words.split()) == expected.split()


@pytest.mark.parametrize(("paper", "table"), [("tdo", "figure7"), ("tlm", "table2")])
def test_it_shows_the_commands_of_its_table(clone: Path, paper: str, table: str) -> None:
    words = ("smoke", "--dry-run", "--out", RUN)
    shown = script(clone, f"{paper}_{table}.sh", *words, CUDA_VISIBLE_DEVICES="").stdout
    assert shown == (ROOT / "tests" / "tables" / "golden" / f"{paper}_{table}.txt").read_text()


def test_a_mistake_is_one_line(clone: Path) -> None:
    done = script(clone, "tpdm_table6.sh", "toy", "--rows", "multiun/huge", code=2)
    assert done.stderr.count("\n") == 1 and "multiun/huge matches none" in done.stderr


def test_bash_is_kept_short() -> None:
    scripts = [path for path in ROOT.rglob("*.sh") if ".venv" not in path.parts]
    assert sum(len(path.read_text().splitlines()) for path in scripts) <= 700


def test_a_paper_has_one_headline_table_whose_patterns_fit_rows() -> None:
    from fnmatch import fnmatchcase

    from support.papers import planned

    headlines = {}
    for paper in PAPERS:
        ((name, table),) = ((n, t) for n, t in find(paper).tables.items() if t.headline)
        rows = [row.name for row in planned(paper, name).rows]
        for pattern in table.headline:
            assert any(fnmatchcase(row, pattern) for row in rows), pattern
        headlines[paper] = (name, len(planned(paper, name, "toy", table.headline).rows))
    assert headlines == {
        "tdo": ("table1", 7),
        "opus100": ("table4", 7),
        "tpdm": ("table1", 4),
        "tlm": ("table9", 8),
        "neurons": ("table1", 4),
    }
