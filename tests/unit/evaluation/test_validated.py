"""Scores of validation sets: the last validation of each training counts."""

import json
from pathlib import Path

import pytest

from tdo_plugin.cli import main
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.groups import Groups, standard_groups
from tdo_plugin.evaluation.score_sheet import ScoreSheet
from tdo_plugin.evaluation.validated import validation_sheet


def line(update: int, direction: str, **scores: float) -> str:
    group = "supervised" if "en" in direction else "zero_shot"
    about = {"update": update, "direction": direction, "group": group, "sentences": 9}
    return json.dumps({**about, **scores})


def training(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "validation.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def groups(directions: object) -> Groups:
    return standard_groups(directions, ("en-de", "fr-en"), "en")  # type: ignore[arg-type]


def sheet(**folders: Path) -> ScoreSheet:
    return validation_sheet(folders, groups)


def test_the_last_validation_counts_and_of_an_update_the_later_line(tmp_path: Path) -> None:
    folder = training(
        tmp_path / "a",
        line(10, "en-de", bleu=90, chrf=90, off=0),
        line(10, "de-fr", bleu=90, chrf=90),
        line(20, "en-de", bleu=1, chrf=1, off=50),
        line(20, "de-fr", bleu=1, chrf=1),
        line(20, "en-de", bleu=30, chrf=40, off=5),
        line(20, "de-fr", bleu=7, chrf=8),
    )
    scores = sheet(a=folder)
    assert scores.groups == {
        "en → X": ("en-de",),
        "zero-shot": ("de-fr",),
        "all": ("en-de", "de-fr"),
    }
    (system,) = scores.systems
    assert system.name == "a"
    assert [row.scores for row in system.directions] == [
        *({"bleu": 30, "chrf": 40, "off": 5}, {"bleu": 7, "chrf": 8}),
    ]
    assert scores.mean("a", "all", "bleu") == 18.5


@pytest.mark.parametrize("text", [None, "", '{"update": 10, "dir'])
def test_a_training_whose_validations_cannot_be_read_is_named(
    tmp_path: Path, text: str | None
) -> None:
    (tmp_path / "a").mkdir()
    if text is not None:
        (tmp_path / "a" / "validation.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"a/validation\.jsonl"):
        sheet(a=tmp_path / "a")


def test_trainings_of_other_directions_do_not_stand_side_by_side(tmp_path: Path) -> None:
    first = training(tmp_path / "a", line(10, "en-de", bleu=1))
    second = training(tmp_path / "b", line(10, "fr-en", bleu=1))
    with pytest.raises(UserError, match="the same directions in all training runs; a and b differ"):
        sheet(a=first, b=second)


def test_tdo_score_writes_them_as_a_score_sheet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line(10, "en-de", bleu=1, chrf=2), line(10, "fr-en", bleu=3, chrf=4)]
    words = ["score", f"a={training(tmp_path / 'a', *lines)}", "--validations"]
    words += ["--out", str(tmp_path), "--group", "german=*-de"]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'scores.json'}\n"
    content = json.loads((tmp_path / "scores.json").read_text())
    assert content["means"]["a"]["german"] == {"bleu": 1, "chrf": 2}
    assert main([*words, "--protocol", "tdo"]) == 2
    assert "`--protocol` must be left out with --validations" in capsys.readouterr().err
