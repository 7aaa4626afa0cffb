"""`tdo reproduce all`: the command line of each paper, and one page of their tables."""

import json
from argparse import Namespace

import pytest
from support.commands import told
from support.score_sheets import sheet

from tdo_plugin.cli import reproduce
from tdo_plugin.evaluation.score_sheet import as_json

HEADLINES = ["tdo/table1", "opus100/table4", "tpdm/table1", "tlm/table9", "neurons/table1"]


@pytest.fixture
def made(tmp_path, monkeypatch) -> list[Namespace]:
    """Command lines that were to be run; each leaves a sheet where the table's is, or fails."""
    lines: list[Namespace] = []

    def make(own: Namespace, plan: object, tables: list) -> int:
        lines.append(own)
        for table in tables:
            table.folder.mkdir(parents=True)
            (table.folder / "scores.json").write_text(json.dumps(as_json(sheet())))
        return int(own.experiments == own.fails)

    monkeypatch.setattr(reproduce, "make", make)
    monkeypatch.setattr(Namespace, "fails", None, raising=False)
    monkeypatch.chdir(tmp_path)
    return lines


def test_one_page_has_all_headline_tables(made, tmp_path, capsys):
    said, _ = told(capsys, *["reproduce", "all", "--jobs", "3"])
    assert [f"{own.experiments}/{own.tables[0]}" for own in made] == HEADLINES
    assert all(own.headline and own.scale == "toy" and own.jobs == 3 for own in made)
    assert [own.updates for own in made] == [None, None, None, 500, None]
    page = tmp_path / "runs" / "all-toy" / "index.html"
    assert said.splitlines()[-1] == str(page)
    text = page.read_text()
    for heading in ("TDO and InstruCL (Qu et al.), table 1", "(Gao et al., 2022), table 9"):
        assert heading in text


def test_whole_tables_of_some_papers(made, tmp_path, capsys):
    words = "reproduce all --scale multi30k --whole --papers tdo,tlm --out here --updates 750"
    told(capsys, *words.split(), "--from", tmp_path)
    assert [own.experiments for own in made] == ["tdo", "tlm"]
    assert all(not own.headline and own.updates == 750 for own in made)
    assert all(vars(own)["from"] == str(tmp_path) for own in made)
    assert (tmp_path / "here" / "index.html").is_file()


def test_a_paper_that_fails_keeps_back_no_other(made, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Namespace, "fails", "tdo")
    told(capsys, *["reproduce", "all", "--papers", "tdo,tpdm"], code=1)
    text = (tmp_path / "runs" / "all-toy" / "index.html").read_text()
    assert "TPDM" in text and "TDO and InstruCL" not in text


def test_what_is_shown(tmp_path, capsys):
    words = ("reproduce", "all", "--papers", "tpdm", "--out", tmp_path, "--dry-run")
    said, _ = told(capsys, *words)
    assert said.startswith("tpdm: TPDM and GTPDM") and said.count("+ tdo train ") == 4
    whole, _ = told(capsys, *words, "--whole")
    assert whole.count("+ tdo train ") == 16
    smoke, _ = told(capsys, *words, "--scale", "smoke")
    assert smoke.count("+ tdo train ") == 27 and "# table8/times/drawing" in smoke
    assert not list(tmp_path.iterdir())


def test_what_is_refused(made, refused):
    refused.rows(
        """
        reproduce all
            --papers tdo,llm   :: --papers
            --scale huge       :: --scale
            --from .           :: --from
            --jobs 0           :: --jobs
            --fast             :: --fast
        """
    )
    assert not made
