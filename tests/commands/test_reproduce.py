"""`tdo reproduce`: what it reads, shows, refuses; and that it runs a table."""

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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.toml"], "must be an experiment file; none.toml: No such file"),
        (["papers"], "`EXPERIMENTS` must be a file, or one of "),
        (["mine.toml", "table9"], "`TABLE` must be one of table1, parts, sweep; it is table9"),
        (["mine.toml", "--scale", "huge"], "`--scale` must be one of toy, smoke, full; it is huge"),
        (["mine.toml", "--form", "other"], "`--form` must be one of shared, disjoint; it is other"),
        (["mine.toml", "--rows", "x*"], "`--rows` must be among base, tdo, "),
        (["mine.toml", "--jobs", "0"], "`--jobs` must be at least 1; it is 0"),
        (["mine.toml", "--updates", "70"], "`--updates` must be a multiple of 50; it is 70"),
        (["mine.toml", "--from", "gone"], "`--from` must be a folder with archives; "),
        (["mine.toml", "--shape", "x"], "unrecognized arguments: --shape"),
        (["mine.toml", "--rows", "tdo", "--losses", "paper"], "`--losses` must come with rows"),
        (["mine.toml", "table1", "--from", "."], "`--from` must come with rows that use it"),
        (["mine.toml", "--cpu", "--gpus-each", "2"], "`--gpus-each` must be at most 1; it is 2"),
    ],
)
def test_what_is_refused(mine, capsys, words, message):
    assert main(["reproduce", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tdo reproduce: error: ") and message in line
    assert not (mine / "runs" / "mine-toy" / "tdo").exists()


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ("side", "`--encoder` must be encoder or decoder, or layers of either"),
        ("decoder:1-2", "`--encoder` must name 3 layers, as many as the stack has; it names 2"),
    ],
)
def test_what_a_command_would_refuse_is_refused_before_all(mine, capsys, layers, message):
    assert main(["reproduce", "tdo", "table2", "--encoder", layers, "--out", "run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and not (mine / "run").exists()


def test_words_that_a_command_does_not_know_are_refused_before_all(mine, capsys):
    (mine / "mine.toml").write_text(TEXT.replace("--threshold {threshold}", "--treshold 1"))
    assert main(["reproduce", "mine.toml", "parts", "--out", "run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--treshold" in line and not (mine / "run").exists()


def test_commands_are_read_before_anything_is_done(mine, capsys):
    text = TEXT.replace('test = "--last 1"', 'test = "--last 1"\nscore = "--metrcs bleu"')
    (mine / "mine.toml").write_text(text)
    assert main(["reproduce", "mine.toml", "table1", "--scale", "smoke", "--cpu"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "`mine.toml` must have valid tdo commands; in score 'like plain=" in line
    assert line.endswith("--metrcs bleu; did you mean --metrics?") and not (mine / "runs").exists()


def test_a_folder_of_something_else_is_left_alone(mine, capsys):
    checkpoint = mine / "mine" / "tdo" / "checkpoints" / "checkpoint_last.pt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    words = ["reproduce", "mine.toml", "table1", "--scale", "smoke", "--out", "mine", "--cpu"]
    for further in ([], ["--fresh"]):
        assert main([*words, *further]) == 2
        assert "has a training from something else" in capsys.readouterr().err
    assert checkpoint.exists() and not (mine / "mine" / "text").exists()


def test_a_run_and_its_failure(mine, capsys, monkeypatch):
    import sys

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
    import sys

    monkeypatch.setattr(runner, "TDO", (sys.executable, experiment_stand_in.__file__))
    monkeypatch.setenv("NOTES", str(mine / "notes"))
    words = ["reproduce", "quickstart", "quickstart", "--scale", "smoke", "--out", "run"]
    assert main([*words, "--rows", "tdo-instrucl", "--cpu"]) == 0
    capsys.readouterr()
    assert main([*words, "--estimate"]) == 0
    done, _, row, total = capsys.readouterr().out.splitlines()
    assert done == "1 of 2 training runs are done"
    assert row.split()[1] == "prefix-decoder-only" and total.startswith("1 training run, ")
