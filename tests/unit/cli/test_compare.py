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
def here(tmp_path, monkeypatch):
    """Folders of three systems, and files of two."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("good", REFERENCES), ("worse", WORSE), ("worst", WORST)):
        for direction in ("de-en", "fr-en", "fr-de"):
            lines(Path(name) / f"{direction}.hyp", text)
            lines(Path(name) / f"{direction}.ref", REFERENCES)
    lines(Path("references"), REFERENCES)


def row(printed: str, metric: str, group: str) -> str:
    """The first row of a table that begins so."""
    begin = [metric, *group.split()]
    return next(line for line in printed.splitlines() if line.split()[: len(begin)] == begin)


def test_a_difference_by_group_with_its_interval(capsys):
    printed, _ = told(capsys, "compare", "worse=worse", "good=good", *FLAGS)
    assert "good against worse" in printed and "100 resamples" in printed
    for group in ("X → en", "French → German", "all"):
        cells = row(printed, "chrF++", group)
        assert "▲" in cells and "[+" in cells and cells.endswith("100")
    told(capsys, "score", "worse=worse", "good=good", *FLAGS, "--out", "scores")
    sheet = read_sheet(Path("scores/scores.json"))
    difference = sheet.comparison("good", "worse", "bleu").groups["all"]
    low, high = f"{difference.low:+.1f}", f"{difference.high:+.1f}"
    assert f"[{low}, {high}]" in row(printed, "BLEU", "all")
    equal = row(told(capsys, "compare", "a=good", "b=good", *FLAGS)[0], "BLEU", "all")
    assert "▲" not in equal and "1.00" in equal


def test_single_files(capsys):
    words = ("--ref", "references", "-s", "de", "-t", "en", *FLAGS)
    printed, _ = told(capsys, "compare", "worse/de-en.hyp", "good=good/de-en.hyp", *words)
    assert "good against de-en" in printed
    assert "▲" in row(printed, "BLEU", "German → English")


def test_a_sheet_that_was_scored(capsys, refused):
    names = ("worse", "good", "worst")
    told(capsys, "score", *(f"{n}={n}" for n in names), *FLAGS, "--out", "scores")
    sheet = ("--scores", "scores/scores.json")
    printed, _ = told(capsys, "compare", *sheet)
    assert "good against worse" in printed and "worst against worse" in printed
    printed, _ = told(capsys, "compare", "good", "worse", *sheet)
    assert "good against worse" in printed and "worst" not in printed
    refused.rows(
        """
        compare --scores scores/scores.json
            good worst       :: worst with worse
            god worse        :: good?
            --metrics bleu   :: --metrics
        """
    )
    path = Path("scores/scores.json")
    path.write_text(json.dumps(as_json(replace(read_sheet(path), comparisons=()))))
    refused("compare", "--scores", path, names="none", case="without a test")


def test_what_is_missing_is_said(capsys):
    Path("good/fr-de.ref").unlink()
    printed, errors = told(capsys, "compare", "worse=worse", "good=good", *FLAGS, code=1)
    assert "tdo" not in printed and "good fr-de: " in errors
    assert "French → German" not in printed


def test_what_is_refused(refused):
    refused.rows(
        """
        compare a=good                         :: SYSTEM
        compare a=good a=worse                 :: de-en of a
        compare a=good b=worse --samples 0     :: --samples
        compare a=good b=worse -s de           :: --source-lang
        compare a=good b=worse --baseline c    :: --baseline
        compare good worse --ref references    :: good
        compare a=x b=x --ref x --directions de-en  :: --ref
        compare good/de-en.hyp good/de-en.hyp --ref references -s de -t en  :: de-en does
        """
    )
