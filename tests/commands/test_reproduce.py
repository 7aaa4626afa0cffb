"""`tdo reproduce`, of one file or of all papers, and `tdo quickstart`: shown, refused, run."""

import json
import shlex
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from support import experiment_stand_in
from support.commands import told
from support.experiments import TEXT
from support.score_sheets import sheet

from tdo_plugin.cli import main, reproduce
from tdo_plugin.evaluation.score_sheet import as_json
from tdo_plugin.experiments import library, runner


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder where commands are given."""
    monkeypatch.chdir(tmp_path)
    for name in ("LID", "SLURM_JOB_NUM_NODES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def mine(here):
    """A file of experiments there."""
    (here / "mine.toml").write_text(TEXT)
    return here


@pytest.fixture
def stand_in(here, monkeypatch):
    """Commands that only note what they are called with."""
    monkeypatch.setattr(runner, "TDO", (sys.executable, experiment_stand_in.__file__))
    monkeypatch.setenv("NOTES", str(here / "notes"))


def test_the_commands_of_a_table(mine, capsys):
    assert main(["reproduce", "mine.toml", "table1", "--scale", "smoke", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "table1: not available at scale smoke: large\n" in said
    assert "#   tdo+instrucl: like InstruCL at 5, authors' form\n" in said
    run = mine / "runs" / "mine-smoke"
    assert f"+ tdo train {run}/tdo/system.conf {run}/text/data --save-dir" in said
    assert said.index("/training\n") < said.index("# report/table1/text/scores\n")
    assert not (mine / "runs").exists()


def test_options_of_the_file_and_of_the_command_stand_in_any_order(mine, capsys):
    words = ["--form", "disjoint", "table1", "--out", "here", "--rows", "tdo", "parts", "--dry-run"]
    assert main(["reproduce", "mine.toml", *words]) == 0
    said = capsys.readouterr().out
    assert "--pairs disjoint" in said and f"{mine}/here/tdo/average.pt" in said
    assert "# table1" in said and "# parts" not in said  # which has no such row


def test_its_help_lists_what_a_file_has(mine, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "mine.toml", "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    for part in ("--form VALUE", "(shared, disjoint)", "--from PATH", "table1", "M and the FFN"):
        assert part in said
    assert "toy" in said and "small" in said


def test_what_is_refused(refused, mine):
    """Before anything is done; commands are read before, too."""
    (mine / "unknown.toml").write_text(TEXT.replace("--threshold {threshold}", "--treshold 1"))
    score = 'test = "--last 1"\nscore = "--metrcs bleu"'
    (mine / "metrics.toml").write_text(TEXT.replace('test = "--last 1"', score))
    checkpoint = mine / "mine" / "tdo" / "checkpoints" / "checkpoint_last.pt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    refused.rows(
        """
        reproduce papers                                 :: EXPERIMENTS
        reproduce mine.toml table9                       :: TABLE
        reproduce mine.toml --rows x*                    :: --rows
        reproduce mine.toml --jobs 0                     :: --jobs
        reproduce mine.toml --from gone                  :: --from
        reproduce mine.toml --shape x                    :: --shape
        reproduce mine.toml --rows tdo --losses paper    :: --losses
        reproduce mine.toml table1 --from .              :: --from
        reproduce mine.toml --cpu --gpus-each 2          :: --gpus-each
        reproduce tdo table2 --encoder side --out run    :: --encoder
        reproduce tdo table2 --encoder decoder:1-2 --out run      :: --encoder
        reproduce unknown.toml parts --out run                    :: --treshold
        reproduce metrics.toml table1 --scale smoke --cpu         :: did you mean --metrics?
        reproduce mine.toml table1 --scale smoke --cpu --out mine :: something else
            --fresh                                               :: something else
        """
    )


def test_a_run_and_its_failure(mine, stand_in, capsys, monkeypatch):
    monkeypatch.setenv("FAILS", "score")
    words = ["reproduce", "mine.toml", "table1", "--scale", "smoke", "--cpu"]
    assert main(words) == 1
    output = capsys.readouterr()
    assert "tdo/training: done in " in output.out
    assert "error: report/table1/text/scores: ended with 3: no memory (full log: " in output.err
    monkeypatch.setenv("FAILS", "")
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "2 steps, including 0 training runs" in said
    assert said.splitlines()[-1] == str(mine / "runs" / "mine-smoke" / "report" / "index.html")
    assert main([*words, "--fresh"]) == 0
    assert "including 3 training runs" in capsys.readouterr().out


def test_the_estimate_of_a_run(mine, capsys):
    words = ["reproduce", "neurons", "figure5", "--scale", "full", "--estimate", "--out", "run"]
    assert main(words) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[1:6] for line in lines[1:3]] == [
        ["many-to-many/multilingual", "64.7M", "15,636", "0.8", "2.4"],
        ["many-to-many/multilingual+te", "64.7M", "19,111", "0.98", "2.9"],
    ]
    assert lines[3][:6] == ["2", "training", "runs,", "5.3", "GPU", "hours."]
    assert main(["reproduce", "own-data", "--text", ".", "--estimate"]) == 0
    said = capsys.readouterr().out
    assert "tdo-instrucl: not in the estimate: `--epoch-sentences` must be given for tdo" in said
    assert not (mine / "run").exists()


def test_what_is_done_is_not_in_the_estimate(mine, stand_in, capsys):
    words = ["reproduce", "quickstart", "quickstart", "--scale", "smoke", "--out", "run"]
    assert main([*words, "--rows", "tdo-instrucl", "--cpu"]) == 0
    capsys.readouterr()
    assert main([*words, "--estimate"]) == 0
    done, _, row, total = capsys.readouterr().out.splitlines()
    assert done == "1 of 2 training runs are done"
    assert row.split()[1] == "prefix-decoder-only" and total.startswith("1 training run, ")


# --- tdo quickstart --------------------------------------------------------------------------


def test_quickstart_is_the_table_of_its_experiments(here, capsys):
    shown, _ = told(capsys, "quickstart", "--dry-run")
    same = ("reproduce", "quickstart", "quickstart", "--out", "runs/quickstart", "--dry-run")
    assert shown == told(capsys, *same)[0]
    assert f"+ tdo train {here}/runs/quickstart/tdo-instrucl/system.conf " in shown
    shown, _ = told(capsys, "quickstart", "--scale", "smoke", "--dry-run")
    assert f"+ tdo train {here}/runs/quickstart-smoke/tdo-instrucl/system.conf " in shown
    assert not list(here.iterdir())


def test_a_quickstart_that_fails_ends_without_a_table(stand_in, capsys, monkeypatch):
    monkeypatch.setenv("FAILS", "score")
    printed, errors = told(capsys, "quickstart", "--scale", "smoke", "--cpu", code=1)
    assert (
        "error: report/quickstart/text/scores: ended with 3" in errors and "browser" not in printed
    )


def test_a_quickstart_without_the_experiments(here, refused, monkeypatch):
    monkeypatch.setattr(library, "FOLDER", here / "gone")
    refused("quickstart", names="EXPERIMENTS")


@pytest.mark.full
def test_quickstart_ends_with_scores_and_what_to_look_at(here, capsys):
    printed, _ = told(capsys, "quickstart", "--scale", "smoke", "--cpu")
    table, _, end = printed.partition("\nScores\n")[2].partition("Means over directions")
    for text in ("prefix-decoder-only", "tdo-instrucl", "BLEU", "zero-shot"):
        assert text in table
    *_, page, _, example, _, _ = end.strip().splitlines()
    opened = Path(page.split()[-1])
    assert opened == Path("runs/quickstart-smoke/report/index.html") and opened.is_file()
    words = shlex.split(example, comments=True)
    (here / "text").write_text("die katze schläft\n")
    words[-1:] = ["--input", "text", "--cpu", "--max-len-b", "3"]
    assert words[0] == "tdo" and main(words[1:]) == 0


# --- tdo reproduce all -----------------------------------------------------------------------

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
    page = tmp_path / "runs" / "all-toy" / "report" / "index.html"
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
    assert (tmp_path / "here" / "report" / "index.html").is_file()


def test_a_paper_that_fails_keeps_back_no_other(made, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Namespace, "fails", "tdo")
    told(capsys, *["reproduce", "all", "--papers", "tdo,tpdm"], code=1)
    text = (tmp_path / "runs" / "all-toy" / "report" / "index.html").read_text()
    assert "TPDM" in text and "TDO and InstruCL" not in text


def test_what_all_shows(tmp_path, capsys):
    words = ("reproduce", "all", "--papers", "tpdm", "--out", tmp_path, "--dry-run")
    said, _ = told(capsys, *words)
    assert said.startswith("tpdm: TPDM and GTPDM") and said.count("+ tdo train ") == 4
    whole, _ = told(capsys, *words, "--whole")
    assert whole.count("+ tdo train ") == 16
    smoke, _ = told(capsys, *words, "--scale", "smoke")
    assert smoke.count("+ tdo train ") == 27 and "# report/table8/times/drawing" in smoke
    assert not list(tmp_path.iterdir())


def test_what_all_refuses(made, refused):
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
