"""`tdo translate --precision int8`."""

import json
from pathlib import Path

import pytest
from support.commands import exit_code
from support.data import kept_logging
from support.prepared import prepared, trained
from support.translating import lines

from tdo_plugin.cli import decoding
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.loading import quantise_model
from tdo_plugin.evaluation.decoding.worker import Work, load
from tdo_plugin.modules import int8_products

WORDS = ("translate", prepared().root, "--cpu", "--workers", "1", "--path", trained())


def decoded(direction, **options):
    """The translator's hypotheses for a test set."""
    work = Work(DecodingOptions((trained(),), **options), prepared(), Path())
    with kept_logging():
        return load(work, "cpu").translate_test(direction, lambda _: None)


def test_scores_are_nearly_those_of_single_precision():
    exact, rounded = (decoded("en-de", precision=name) for name in ("fp32", "int8"))
    pairs = list(zip(exact, rounded, strict=True))
    assert any(first.score != second.score for first, second in pairs)
    assert sum(abs(first.score - second.score) < 0.1 for first, second in pairs) > len(pairs) / 2
    alone = decoded("en-de", precision="int8", batch_size=1)
    pairs = list(zip(alone, rounded, strict=True))
    # the model is hardly trained, and a score that rounds differently can change what beams keep
    alike = [(first.score, second.score) for first, second in pairs if first.text == second.text]
    assert len(alike) >= len(pairs) - 2
    assert all(first == pytest.approx(second, abs=2e-3) for first, second in alike)
    # on some processors an activation at the edge of two integers becomes the other in a batch
    near = [pair for pair in alike if pair[0] == pytest.approx(pair[1], abs=1e-4)]
    assert len(near) >= len(pairs) - 2


def test_a_folder_is_of_one_precision(tmp_path, capsys):
    words = (*WORDS, "--out", tmp_path, "--pairs", "en-de")
    assert exit_code(*words, "--precision", "int8") == 0
    made = json.loads((tmp_path / "translate.json").read_text())
    assert made["settings"]["precision"] == "int8"
    texts = lines(tmp_path / "en-de.hyp")
    assert texts == [each.text for each in decoded("en-de", precision="int8")]
    capsys.readouterr()
    assert exit_code(*words) == 2
    assert capsys.readouterr().err.rstrip().endswith("was made with different precision")
    assert lines(tmp_path / "en-de.hyp") == texts


@pytest.mark.parametrize(
    ("words", "gpus", "text"),
    [
        ((), 1, "`--precision` must be fp32, fp16 or bf16 without --cpu; it is int8"),
        (
            ("--engine", "fairseq"),
            0,
            "`--precision` must be fp32, fp16 or bf16 with --engine fairseq; it is int8",
        ),
    ],
)
def test_refusals(words, gpus, text, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(decoding, "gpus_here", lambda args: gpus)
    flags = ("--out", tmp_path / "out", "--precision", "int8", *words)
    assert exit_code(*WORDS, *flags) == 2
    error = capsys.readouterr().err.strip()
    assert error.endswith(text) and "\n" not in error


def test_models_and_machines_without_it(monkeypatch):
    with pytest.raises(UserError, match="for a int, which is not a model of this package"):
        quantise_model(3)
    work = Work(DecodingOptions((trained(),), precision="int8"), prepared(), Path())
    monkeypatch.setattr(int8_products, "is_available", lambda: False)
    with kept_logging(), pytest.raises(UserError, match="unless torch has FBGEMM"):
        load(work, "cpu")
