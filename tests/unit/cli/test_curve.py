"""`tdo curve updates` and `tdo curve losses` from their command lines."""

import json

import pytest
from support.commands import told


@pytest.fixture
def file(tmp_path):
    """Two validations, of which the first has no off-target share."""
    lines = [
        {"update": 10, "direction": "de-fr", "group": "zero_shot", "bleu": 1.25, "chrf": 20},
        {"update": 20, "direction": "de-fr", "group": "zero_shot", "bleu": 4, "chrf": 30, "off": 5},
    ]
    path = tmp_path / "validation.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_a_table_and_a_picture(file, tmp_path, capsys):
    picture = tmp_path / "c.svg"
    words = ("curve", "updates", f"6 layers={file}", "--metrics", "bleu,chrf", "--out", picture)
    lines = told(capsys, *words)[0].splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["training", "updates", "BLEU", "chrF++"],
        ["6", "layers", "10", "1.2", "20.0"],
        ["6", "layers", "20", "4.0", "30.0"],
    ]
    assert lines[3:] == [str(picture)] and picture.is_file()
    picture.unlink()
    assert told(capsys, *words, "--no-figures")[0].splitlines() == lines[:3]
    assert not picture.exists()


def logged(folder, lines):
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def folder(tmp_path):
    """A training that went on from update 20, and diverged in update 30."""
    lines = [
        {"tag": "train_inner", "update": 10, "loss": 9.5, "nll_loss": 9.25},
        {"tag": "valid", "update": 20, "loss": 9, "nll_loss": 8},
        {"tag": "valid", "update": 30, "loss": 5, "nll_loss": 4},
        {"tag": "valid", "update": 20, "loss": 7, "nll_loss": 6.0625},
        {"tag": "valid", "update": 30, "loss": None, "nll_loss": None},
    ]
    return logged(tmp_path / "run", lines)


def test_losses_as_a_table_and_a_picture(folder, tmp_path, capsys):
    picture = tmp_path / "c.svg"
    lines = told(capsys, "curve", "losses", f"a={folder}", "--out", picture)[0].splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["training", "updates", "cross-entropy,", "bits"],
        ["a", "20", "6.062"],
        ["a", "30", "-"],
    ]
    assert lines[3:] == [str(picture)] and ">cross-entropy, bits<" in picture.read_text()
    words = ("--subset", "training", "--metrics", "loss,nll_loss")
    _, line = told(capsys, "curve", "losses", f"a={folder}", *words)[0].splitlines()
    assert line.split() == ["a", "10", "9.500", "9.250"]


def test_losses_of_consecutive_trainings(folder, tmp_path, capsys):
    lines = [{"tag": "valid", "update": update, "nll_loss": 3} for update in (30, 40)]
    after = logged(tmp_path / "after", lines)
    printed, _ = told(capsys, "curve", "losses", f"a={folder}:{after}")
    assert [line.split()[1:] for line in printed.splitlines()[1:]] == [
        ["20", "6.062"],
        ["30", "3.000"],
        ["40", "3.000"],
    ]


def test_what_is_refused(file, folder, refused):
    refused.rows(
        """
        curve updates {file}           :: NAME=FILE
        curve updates a={file} a={file}  :: a occurs twice
        curve updates a={file}         :: accuracy
            --metrics off              :: --metrics
            --group supervised         :: supervised
            --out c.gif                :: --out
        curve losses {folder}          :: NAME=SAVE_DIR
        curve losses a={folder}
            --metrics bleu             :: --metrics
            --subset test              :: {folder}
            --out c.gif                :: --out
        """,
        file=file,
        folder=folder,
    )
