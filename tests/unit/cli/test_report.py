"""`tdo report` from its command line."""

import argparse
import json
from itertools import permutations
from pathlib import Path

import pytest

from tdo_plugin.cli import report
from tdo_plugin.data.databin import MARK
from tdo_plugin.errors import UserError

TEXT = {"en": ["a red house", "no water here"], "de": ["ein rotes Haus", "kein Wasser hier"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """DATA in `data` and a perfect system in `output`."""
    data = tmp_path / "data"
    for name in ("pieces", "reference"):
        (data / name).mkdir(parents=True)
    directions = ["-".join(pair) for pair in permutations(TEXT)]
    for language, lines in TEXT.items():
        joined = "\n".join(lines) + "\n"
        (data / "reference" / f"test.{language}").write_text(joined)
        for split in ("train", "valid"):
            (data / "pieces" / f"{split}.en-de.{language}").write_text("▁" + joined)
    for name, content in (("langs", TEXT), ("pairs", directions), ("test-pairs", directions)):
        (data / f"{name}.txt").write_text("\n".join(content) + "\n")
    (data / MARK).write_text("{}")
    for direction in directions:
        out = tmp_path / "output" / direction
        out.mkdir(parents=True)
        lines = TEXT[direction.split("-")[1]]
        text = "".join(f"H-{i}\t-1\t{line}\n" for i, line in enumerate(lines))
        (out / "generate-test.txt").write_text(text)
    return tmp_path


def run(*words: object) -> int:
    parser = argparse.ArgumentParser()
    report.add_arguments(parser)
    return report.run(parser.parse_args([str(word) for word in words]))


def test_everything_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run("--data", folder / "data", "--out", folder / "r", "--system", f"s={folder}/output")
    assert code == 0
    assert sorted(p.name for p in (folder / "r").iterdir()) == [
        "heatmap.png",
        "results.json",
        "results.md",
    ]
    results = json.loads((folder / "r" / "results.json").read_text(encoding="utf-8"))
    assert results["systems"]["s"]["means"]["supervised"]["chrf"] == 100
    printed = capsys.readouterr().out
    assert "100.0" in printed and str(folder / "r" / "heatmap.png") in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--system", "no-equals-sign"], "`--system` must be NAME=DIR"),
        (["--system", "s=/no/such/folder"], "`--system` must name a folder"),
        (["--system", "s=.", "--system", "s=."], "must name each system once"),
        (["--system", "s=.", "--directions", "en-xx"], "en-xx is not one"),
        (["--system", "s=.", "--directions", "zero-shot"], "zero-shot has none"),
        (["--system", "s=.", "--lid", "/no/such.bin"], "`--lid` must be a fastText model"),
    ],
)
def test_bad_input_is_one_line(folder: Path, words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        run("--data", folder / "data", "--out", folder / "r", *words)
    assert not (folder / "r").exists()


def test_an_unprepared_folder_is_refused(folder: Path) -> None:
    (folder / "data" / MARK).unlink()
    with pytest.raises(UserError, match=r"scripts/preprocess\.sh finished"):
        run("--data", folder / "data", "--out", folder / "r", "--system", f"s={folder}/output")
