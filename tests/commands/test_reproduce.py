"""`tdo reproduce`: what it reads, shows, refuses; and that it runs a table."""

import sys

import pytest
from support import experiment_stand_in
from support.experiments import TEXT

from tdo_plugin.cli import main
from tdo_plugin.experiments import runner


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A file of experiments in the folder where commands are given."""
    monkeypatch.chdir(tmp_path)
    for name in ("LID", "SLURM_JOB_NUM_NODES"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mine.toml").write_text(TEXT)
    return tmp_path


def test_the_commands_of_a_table(mine, capsys):
    assert main(["reproduce", "mine.toml", "table1", "--scale", "smoke", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "table1: not available at scale smoke: large\n" in said
    assert "#   tdo+instrucl: like InstruCL at 5\n" in said
    run = mine / "runs" / "mine-smoke"
    assert f"+ tdo train {run}/tdo/system.conf {run}/text/data --save-dir" in said
    assert said.index("/training\n") < said.index("# table1/text/scores\n")
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
    (mine / "mine" / ".lock").touch()
    refused.rows(
        """
        reproduce none.toml                              :: none.toml
        reproduce papers                                 :: EXPERIMENTS
        reproduce mine.toml table9                       :: TABLE
        reproduce mine.toml --scale huge                 :: --scale
        reproduce mine.toml --form other                 :: --form
        reproduce mine.toml --rows x*                    :: --rows
        reproduce mine.toml --jobs 0                     :: --jobs
        reproduce mine.toml --updates 70                 :: --updates
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


def test_a_run_and_its_failure(mine, capsys, monkeypatch):
    monkeypatch.setattr(runner, "TDO", (sys.executable, experiment_stand_in.__file__))
    monkeypatch.setenv("NOTES", str(mine / "notes"))
    monkeypatch.setenv("FAILS", "score")
    words = ["reproduce", "mine.toml", "table1", "--scale", "smoke", "--cpu"]
    assert main(words) == 1
    output = capsys.readouterr()
    assert "tdo/training: done in " in output.out
    assert "error: table1/text/scores: ended with 3: no memory (full log: " in output.err
    monkeypatch.setenv("FAILS", "")
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "2 steps, including 0 training runs" in said
    assert said.splitlines()[-1] == str(mine / "runs" / "mine-smoke" / "table1")
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


def test_what_is_done_is_not_in_the_estimate(mine, capsys, monkeypatch):
    monkeypatch.setattr(runner, "TDO", (sys.executable, experiment_stand_in.__file__))
    monkeypatch.setenv("NOTES", str(mine / "notes"))
    words = ["reproduce", "quickstart", "quickstart", "--scale", "smoke", "--out", "run"]
    assert main([*words, "--rows", "tdo-instrucl", "--cpu"]) == 0
    capsys.readouterr()
    assert main([*words, "--estimate"]) == 0
    done, _, row, total = capsys.readouterr().out.splitlines()
    assert done == "1 of 2 training runs are done"
    assert row.split()[1] == "prefix-decoder-only" and total.startswith("1 training run, ")
