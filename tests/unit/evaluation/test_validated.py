"""Scores of validation sets: the last validation of each training counts."""

import json
from pathlib import Path

from tdo_plugin.cli import main
from tdo_plugin.evaluation.groups import standard_groups
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


def sheet(**folders: Path) -> ScoreSheet:
    return validation_sheet(
        folders, lambda directions: standard_groups(directions, ("en-de", "fr-en"), "en")
    )


def test_the_last_validation_counts_and_of_an_update_the_later_line(tmp_path):
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
    groups = {"en → X": ("en-de",), "zero-shot": ("de-fr",), "all": ("en-de", "de-fr")}
    assert scores.groups == groups
    (system,) = scores.systems
    assert system.name == "a"
    english, german = (row.scores for row in system.directions)
    assert (english, german) == ({"bleu": 30, "chrf": 40, "off": 5}, {"bleu": 7, "chrf": 8})
    assert scores.mean("a", "all", "bleu") == 18.5


def test_trainings_that_are_refused(tmp_path, refused):
    for name, text in (("none", None), ("empty", ""), ("cut", '{"update": 10, "dir')):
        (tmp_path / name).mkdir()
        if text is not None:
            (tmp_path / name / "validation.jsonl").write_text(text, encoding="utf-8")
        with refused.raised(name, names=f"{name}/validation.jsonl"):
            sheet(a=tmp_path / name)
    first = training(tmp_path / "a", line(10, "en-de", bleu=1))
    second = training(tmp_path / "b", line(10, "fr-en", bleu=1))
    with refused.raised("other directions", names="a and b differ"):
        sheet(a=first, b=second)


def test_tdo_score_writes_them_as_a_score_sheet(tmp_path, capsys, refused):
    lines = [line(10, "en-de", bleu=1, chrf=2), line(10, "fr-en", bleu=3, chrf=4)]
    words = ["score", f"a={training(tmp_path / 'a', *lines)}", "--validations"]
    words += ["--out", str(tmp_path), "--group", "german=*-de"]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'scores.json'}\n"
    content = json.loads((tmp_path / "scores.json").read_text())
    assert content["means"]["a"]["german"] == {"bleu": 1, "chrf": 2}
    refused(*words, "--protocol", "tdo", names="--protocol")
