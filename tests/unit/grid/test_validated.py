"""A grid that is scored by validation sets: nothing is translated, the last validation counts."""

import json
from pathlib import Path

import pytest
from support.grid_bench import ALL, ONE, Bench, stand_in
from support.grids import AXES

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.grid.folder import TRAINED
from tdo_plugin.grid.validated import check_validated, validation_sheet

VALIDATED = {"measure": "validation", "cells": None}
EVALUATED = {
    "axes": {**AXES, "z": {"y": ["--eval-translation all"]}},
    "measure": "validation",
    "cells": None,
}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return stand_in(tmp_path, monkeypatch)


def line(update: int, direction: str, **scores: float) -> str:
    group = "supervised" if "en" in direction else "zero_shot"
    about = {"update": update, "direction": direction, "group": group, "sentences": 9}
    return json.dumps({**about, **scores})


def test_a_training_is_all_that_is_made(bench: Bench) -> None:
    folders = bench.folders(*ALL[1:], **VALIDATED)
    assert bench.run(folders) == {}
    assert bench.made() == [f"train {name}" for name in ALL[1:]]
    assert (
        {folder.state() for folder in folders} == {folder.final for folder in folders} == {TRAINED}
    )
    assert bench.run(folders) == {} and len(bench.made()) == 3
    assert bench.said[-1] == "ae-1 is done already"
    assert [words[0] for words in bench.plan().commands(folders[0], 0)] == ["train"]
    # and test sets may be asked for later on
    later = bench.folders(*ALL[1:], cells=None)
    assert bench.run(later) == {}
    assert bench.made()[3:] == [f"translate {name}" for name in ALL[1:]]


def test_the_last_validation_counts_and_of_an_update_the_later_line(bench: Bench) -> None:
    (folder,) = bench.folders("lm-1", **VALIDATED)
    folder.validations.parent.mkdir(parents=True)
    lines = [
        line(10, "en-de", bleu=90, chrf=90, off=0),
        line(10, "de-fr", bleu=90, chrf=90),
        line(20, "en-de", bleu=1, chrf=1, off=50),
        line(20, "de-fr", bleu=1, chrf=1),
        line(20, "en-de", bleu=30, chrf=40, off=5),
        line(20, "de-fr", bleu=7, chrf=8),
    ]
    folder.validations.write_text("\n".join(lines) + "\n")
    data = DataFolder(bench.root / "data", ("en", "de", "fr"), ("en-de", "fr-en"), ())
    sheet = validation_sheet(data, [folder])
    assert sheet.groups == {
        "en → X": ("en-de",),
        "zero-shot": ("de-fr",),
        "all": ("en-de", "de-fr"),
    }
    (system,) = sheet.systems
    assert system.name == "lm-1"
    assert system.of("en-de").scores == {"bleu": 30, "chrf": 40, "off": 5}
    assert system.of("de-fr").scores == {"bleu": 7, "chrf": 8}
    assert sheet.mean("lm-1", "all", "bleu") == 18.5


def test_a_cell_that_translates_nothing_is_refused(bench: Bench) -> None:
    runs = [folder.run for folder in bench.folders(*ONE, measure="validation")]
    with pytest.raises(UserError, match="`measure` must be test where a cell has no --eval-trans"):
        check_validated(runs, ["--lr", "1"])
    check_validated(runs, ["--eval-translation", "all"])
    check_validated(runs, ["--eval-translation=all"])
    check_validated([folder.run for folder in bench.folders("lm-1-y", **EVALUATED)], [])


@pytest.mark.parametrize("words", [["--eval-subset", "test"], ["--eval-subset=test"]])
def test_cells_are_not_chosen_by_test_sets(bench: Bench, words: list[str]) -> None:
    """Whether they stand in the grid or behind --, and not where they are what is validated on."""
    (run,) = (folder.run for folder in bench.folders("lm-1-y", **EVALUATED))
    message = r"`--eval-subset` must be of --valid-subset \(valid\) .*; of lm-1-y it is test"
    with pytest.raises(UserError, match=message) as raised:
        check_validated([run], words)
    assert "\n" not in str(raised.value)
    run.config.flags["--eval-subset"] = ["test"]
    with pytest.raises(UserError, match=message):
        check_validated([run], [])
    check_validated([run], ["--valid-subset", "valid,test"])
    check_validated([run], ["--eval-subset", "valid"])


@pytest.mark.parametrize("text", [None, "", '{"update": 10, "dir'])
def test_a_training_whose_validations_cannot_be_read_is_named(
    bench: Bench, text: str | None
) -> None:
    (folder,) = bench.folders("lm-1", **VALIDATED)
    if text is not None:
        folder.validations.parent.mkdir(parents=True)
        folder.validations.write_text(text)
    data = DataFolder(bench.root / "data", ("en", "de"), ("en-de",), ())
    with pytest.raises(UserError, match=r"lm-1/checkpoints/validation\.jsonl"):
        validation_sheet(data, [folder])


def test_cells_of_other_directions_do_not_stand_side_by_side(bench: Bench) -> None:
    folders = bench.folders("lm-1", "ae-1", **VALIDATED)
    for folder, direction in zip(folders, ("en-de", "de-en"), strict=True):
        folder.validations.parent.mkdir(parents=True)
        folder.validations.write_text(line(10, direction, bleu=1))
    data = DataFolder(bench.root / "data", ("en", "de"), ("en-de", "de-en"), ())
    with pytest.raises(UserError, match="the same directions in all cells; lm-1 and ae-1 differ"):
        validation_sheet(data, folders)
