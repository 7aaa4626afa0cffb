"""`tdo curve updates` from its command line."""

import json
from pathlib import Path

import pytest

from tdo_plugin.cli import main


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two validations, of which the first has no off-target share."""
    lines = [
        {"update": 10, "direction": "de-fr", "group": "zero_shot", "bleu": 1.25, "chrf": 20},
        {"update": 20, "direction": "de-fr", "group": "zero_shot", "bleu": 4, "chrf": 30, "off": 5},
    ]
    path = tmp_path / "validation.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_a_table_and_a_picture(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "c.svg"
    words = [f"6 layers={file}", "--metrics", "bleu,chrf", "--out", str(picture)]
    assert main(["curve", "updates", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["training", "updates", "BLEU", "chrF++"],
        ["6", "layers", "10", "1.2", "20.0"],
        ["6", "layers", "20", "4.0", "30.0"],
    ]
    assert lines[3:] == [str(picture)] and picture.is_file()
    picture.unlink()
    assert main(["curve", "updates", *words, "--no-figures"]) == 0
    assert capsys.readouterr().out.splitlines() == lines[:3] and not picture.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["FILE"], "`NAME=FILE` must name a line and its file"),
        (["a=FILE", "a=FILE"], "`NAME=FILE` must name each line once; a occurs twice"),
        (
            ["a=FILE", "--metrics", "off"],
            "`--metrics` must be among bleu, chrf, accuracy; it has off",
        ),
        (["a=FILE"], "`--metrics` must have been measured at every validation; accuracy was not"),
        (["a=FILE", "--group", "supervised"], "must have supervised directions"),
        (["a=FILE", "--out", "c.gif"], "`--out` must end in .svg or .png"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(
    file: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["curve", "updates", *(word.replace("FILE", str(file)) for word in words)]) == 2
    errors = capsys.readouterr().err
    assert message in errors and errors.count("\n") == 1
