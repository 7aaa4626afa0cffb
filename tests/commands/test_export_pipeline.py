"""The pipeline of transformers on folders of `tdo export` gives the text of `tdo translate`."""

import os
import sys
from pathlib import Path

import pytest
from support.commands import exit_code
from support.exported import AWKWARD, BOTH_TAGS, PLAIN, exported
from support.prepared import prepared, trained
from support.remote_code import OTHER, loaded_elsewhere

AWARE = ("--encoder-langtok", "src", "--decoder-langtok", "--tdo-laln", "both")
KINDS = {
    "M2M100": (PLAIN, "de-en"),
    "M2M100, two tags": (BOTH_TAGS, "de-fr"),
    "own model": ((), "de-fr"),
    "own model, two tags": (AWARE, "de-en"),
}
# marks in another order than Unicode's, a carriage return, and more than the model reads
HARD = ["م\u0651\u064e", "ç\u0301", "\u0344", "a\rman", "x " * 1500, "!" * 30]


def check(tmp_path: Path, subtests: pytest.Subtests, python: str) -> None:
    text = tmp_path / "text"
    reference = prepared().reference("de", "fr", "de").read_text(encoding="utf-8").splitlines()
    sentences = [*AWKWARD, *HARD, *reference[:4]]
    text.write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8", newline="\n")
    expected, jobs = [], []
    for number, (flags, direction) in enumerate(KINDS.values()):
        source, target = direction.split("-")
        out = tmp_path / f"{number}.txt"
        words = ("--input", text, "-s", source, "-t", target, "--out", out, "--cpu")
        assert exit_code("translate", "--path", trained(*flags), *words) == 1  # one is too long
        expected.append(out.read_text(encoding="utf-8").split("\n")[:-1])
        folder = tmp_path / f"folder{number}"  # beside which the pipeline saves another
        folder.symlink_to(exported("hf", flags))
        jobs.append({"folder": str(folder), "sentences": sentences, "direction": direction})
    results = loaded_elsewhere(jobs, tmp_path, tmp_path / "cache", python)
    for name, lines, result in zip(KINDS, expected, results, strict=True):
        with subtests.test(name):
            assert result["batched"] == lines
            assert result["saved"] == lines[-3:]
            assert result["single"] == lines[-1:]
            assert result["numbers"] == [2, 2]


@pytest.mark.long
def test_the_text_is_that_of_tdo_translate(tmp_path, subtests):
    check(tmp_path, subtests, sys.executable)


@pytest.mark.full
@pytest.mark.skipif(OTHER not in os.environ, reason=f"{OTHER} names no interpreter")
def test_the_text_in_another_version(tmp_path, subtests):
    check(tmp_path, subtests, os.environ[OTHER])
