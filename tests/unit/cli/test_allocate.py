"""`tdo neurons allocate` from its command line."""

import json
from pathlib import Path

import pytest
import torch

from tdo_plugin import cli
from tdo_plugin.neuron_files import Importance, Masks

NAME = "encoder_layers.0.attention.out"
PAIRS = ["it-en", "en-it", "ro-en"]
THETA = torch.tensor([[5.0, 9.0, 1.0], [5.0, 2.0, 8.0], [5.0, 1.0, 7.0]])


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A file of importance, in the working folder."""
    monkeypatch.chdir(tmp_path)
    Importance("absolute", PAIRS, {NAME: THETA}, {NAME: "source"}, "d" * 64).write(
        tmp_path / "importance"
    )
    return tmp_path / "importance"


def allocate(*words: object) -> int:
    return cli.main(["neurons", "allocate", "importance", "--out", "masks", *map(str, words)])


def test_a_file_of_masks_that_says_how_it_was_made(written, capsys):
    assert allocate("--general", 0.34, "--threshold", 0.8, "--json", "summary.json") == 0
    masks = Masks.read(Path("masks"))
    assert (masks.pairs, masks.checkpoint) == (tuple(PAIRS), "d" * 64)
    # means 5, 4, 5.33: the third is general; 5 is all pairs'; 9 is it-en's
    assert masks.general[NAME].tolist() == [False, False, True]
    assert masks.modules[NAME].int().tolist() == [[1, 1, 1], [1, 0, 1], [1, 0, 1]]
    importance = Importance.read(written)
    settings = {"general": 0.34, "threshold": 0.8, "by": "pair", "relative": False}
    settings |= {"method": "absolute", "inner": "before", "importance": importance.digest}
    assert masks.about.items() >= settings.items()
    assert {"command", "versions", "commit"} <= masks.about.keys()
    summary = json.loads(Path("summary.json").read_text())
    assert summary["settings"] == settings
    counts = {"specific": 2, "alone": 1, "share": 1.0, "without_specific": 0, "without_any": []}
    assert summary["pairs"]["it-en"] == counts
    output = capsys.readouterr()
    assert "3 neurons in 1 modules: 1 general, 2 specific" in output.out
    assert "belongs to 2.00 groups" in output.out
    assert output.err == ""


def test_the_paper_s_constants_are_the_defaults(written):
    assert allocate() == 0
    about = Masks.read(Path("masks")).about
    assert (about["general"], about["threshold"], about["by"]) == (0.9, 0.7, "pair")


@pytest.mark.parametrize(
    ("by", "second"),
    [
        ("pair", [1, 0, 0]),
        ("source", [1, 0, 0]),
        ("target", [1, 0, 1]),  # en has the mean of 9 and 1, and both its pairs get what it gets
        ("separate", [1, 0, 0]),  # an encoder's, so as by source
    ],
)
def test_every_way_has_a_row_for_each_pair(written, by, second):
    assert allocate("--by", by, "--general", 0, "--threshold", 1) == 0
    assert Masks.read(Path("masks")).modules[NAME][:, 1].int().tolist() == second


def test_relative_to_each_pair_s_mean(written):
    options = ("--general", 0, "--threshold", 1, "--fresh")
    assert allocate(*options) == 0
    plain = Masks.read(Path("masks")).modules[NAME]
    assert allocate(*options, "--relative") == 0
    theta = THETA / THETA.mean(1, keepdim=True)
    masks = Masks.read(Path("masks"))
    assert masks.about["relative"]
    assert torch.equal(masks.modules[NAME], theta == theta.amax(0))
    assert not torch.equal(masks.modules[NAME], plain)


def test_some_pairs(written):
    assert allocate("--pairs", "ro-en, it-en", "--general", 0, "--threshold", 1) == 0
    masks = Masks.read(Path("masks"))
    assert masks.pairs == ("it-en", "ro-en")
    assert masks.modules[NAME].int().tolist() == [[1, 1, 0], [1, 0, 1]]
    assert allocate("--pairs", "ro-en", "--general", 0, "--threshold", 1, "--fresh") == 0
    assert Masks.read(Path("masks")).modules[NAME].all()


def test_pairs_that_go_without_are_told_in_a_line_each(written, capsys):
    theta = torch.tensor([[9.0, 9.0]] + 6 * [[1.0, 1.0]])
    pairs = [f"en-{code}" for code in ("a", "b", "c", "d", "e", "f", "g")]
    Importance("taylor", pairs, {NAME: theta}, {NAME: "source"}, "d").write(written)
    assert allocate("--general", 0) == 0
    none, poor = capsys.readouterr().err.splitlines()
    named = ", ".join(f"en-{code} in {NAME}" for code in "bcde")
    assert none == f"tdo neurons allocate: warning: no neuron at all: {named} and 2 more"
    assert poor == (
        "tdo neurons allocate: warning: no specific neuron in any module: "
        "en-b, en-c, en-d, en-e and 2 more"
    )
    assert allocate("--general", 0.5, "--fresh") == 0
    assert "no neuron at all" not in capsys.readouterr().err


def test_what_is_refused(written, refused):
    for name in ("there", "text"):
        Path(name).write_text("kept")
    assert allocate("--out", "other") == 0
    refused.rows(
        """
        neurons allocate importance --out masks
            --general 1.1             :: --general
            --general -0.1            :: --general
            --threshold nan           :: --threshold
            --threshold 2             :: --threshold
            --pairs it-en,de-en       :: de-en
            --pairs it-en,            :: --pairs
            --out .                   :: --out
            --out there               :: --fresh
            --out importance --fresh  :: FILE
            --json masks              :: --json
            --json none/x             :: none/x
        neurons allocate text --out masks   :: text
        neurons allocate other --out masks  :: neuron masks
        """
    )
    assert Path("there").read_text() == "kept"
