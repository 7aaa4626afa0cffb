"""`tdo compare` from its command line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.commands import told

from tdo_plugin.evaluation.score_sheet import as_json
from tdo_plugin.evaluation.sheet_reading import read_sheet

REFERENCES = [f"this is sentence {n} of a small test set" for n in range(40)]
WORSE = [line.replace("small", "large" if n % 3 else "small") for n, line in enumerate(REFERENCES)]
WORST = [line[:20] for line in REFERENCES]
FLAGS = ("--metrics", "bleu,chrf", "--samples", "100", "--workers", "1")


def lines(path: Path, text: list[str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of three systems, and files of two."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("good", REFERENCES), ("worse", WORSE), ("worst", WORST)):
        for direction in ("de-en", "fr-en", "fr-de"):
            lines(Path(name) / f"{direction}.hyp", text)
            lines(Path(name) / f"{direction}.ref", REFERENCES)
    lines(Path("references"), REFERENCES)


def row(printed: str, metric: str, group: str) -> str:
    """The first row of a table that begins so."""
    return next(
        line for line in printed.splitlines() if line.split()[: 1 + len(group.split())] ==
        [metric, *group.split()]
    )  # fmt: skip


def test_a_difference_by_group_with_its_interval(capsys: pytest.CaptureFixture[str]) -> None:
    printed, _ = told(capsys, "compare", "worse=worse", "good=good", *FLAGS)
    assert "good against worse" in printed and "100 resamples" in printed
    for group in ("X → en", "X → Y", "all"):
        cells = row(printed, "chrF++", group)
        assert "‡" in cells and "[+" in cells and cells.endswith("100")
    told(capsys, "score", "worse=worse", "good=good", *FLAGS, "--out", "scores")
    sheet = read_sheet(Path("scores/scores.json"))
    difference = sheet.comparison("good", "worse", "bleu").groups["all"]
    low, high = f"{difference.low:+.1f}", f"{difference.high:+.1f}"
    assert f"[{low}, {high}]" in row(printed, "BLEU", "all")


def test_equal_systems_do_not_differ(capsys: pytest.CaptureFixture[str]) -> None:
    printed, _ = told(capsys, "compare", "a=good", "b=good", *FLAGS)
    assert "†" not in row(printed, "BLEU", "all") and "1.00" in row(printed, "BLEU", "all")


def test_single_files(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--ref", "references", "-s", "de", "-t", "en", *FLAGS)
    printed, _ = told(capsys, "compare", "worse/de-en.hyp", "good=good/de-en.hyp", *words)
    assert "good against de-en" in printed and "‡" in row(printed, "BLEU", "X → en")
    _, errors = told(capsys, "compare", *["good/de-en.hyp"] * 2, *words, code=2)
    assert "`SYSTEM` must be NAME=FILE if names repeat; de-en does" in errors


def test_a_sheet_that_was_scored(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("worse", "good", "worst")
    told(capsys, "score", *(f"{n}={n}" for n in names), *FLAGS, "--out", "scores")
    sheet = ("--scores", "scores/scores.json")
    printed, _ = told(capsys, "compare", *sheet)
    assert "good against worse" in printed and "worst against worse" in printed
    printed, _ = told(capsys, "compare", "good", "worse", *sheet)
    assert "good against worse" in printed and "worst" not in printed
    for words, message in (
        (
            ["good", "worst"],
            "including its baseline; it compares good with worse, worst with worse",
        ),
        (["god", "worse"], "must be one of worse, good, worst; it is god; did you mean good?"),
        (["--metrics", "bleu"], "`--metrics` must be left out with --scores"),
    ):
        _, errors = told(capsys, "compare", *words, *sheet, code=2)
        assert message in errors and errors.count("\n") == 1


def test_what_is_missing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("good/fr-de.ref").unlink()
    printed, errors = told(capsys, "compare", "worse=worse", "good=good", *FLAGS, code=1)
    assert "tdo" not in printed and "good fr-de: " in errors
    assert "X → Y" not in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a=good"], "`SYSTEM` must be given twice or more; it is given 1 times"),
        (["a=good", "a=worse"], "must give each direction of a system once; de-en of a is in"),
        (["a=good", "b=worse", "--samples", "0"], "`--samples` must be at least 1 for a comp"),
        (["a=good", "b=worse", "-s", "de"], "`--source-lang` must come with --ref; it does not"),
        (["good", "worse", "--ref", "references"], "with --ref; good is not a file"),
        (["a=x", "b=x", "--ref", "x", "--directions", "de-en"], "must be left out with --ref; it"),
        (["a=good", "b=worse", "--baseline", "c"], "`--baseline` must be one of a, b; it is c"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    _, errors = told(capsys, "compare", *words, code=2)
    assert message in errors and errors.count("\n") == 1


def test_a_sheet_without_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "score", "a=good", "b=worse", *FLAGS, "--out", "scores")
    path = Path("scores/scores.json")
    sheet = replace(read_sheet(path), comparisons=())
    path.write_text(json.dumps(as_json(sheet)), encoding="utf-8")
    _, errors = told(capsys, "compare", "--scores", path, code=2)
    assert "including its baseline; it compares none" in errors
