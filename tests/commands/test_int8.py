"""`tdo translate --precision int8`."""

import functools
import json

import pytest
from support.commands import exit_code
from support.prepared import prepared, trained
from support.translating import lines, translator_of

from tdo_plugin.cli import decoding
from tdo_plugin.evaluation.decoding.loading import quantise_model
from tdo_plugin.modules import int8_products

WORDS = ("translate", prepared().root, "--cpu", "--workers", "1", "--path", trained())
LIMIT = 15  # what is longer has hardly begun to be a translation


@functools.cache
def decoded(**options):
    """The translator's hypotheses for a test set."""
    return translator_of(max_len_b=LIMIT, **options).translate_test("en-de", lambda _: None)


def test_scores_are_nearly_those_of_single_precision():
    exact, rounded = (decoded(precision=name) for name in ("fp32", "int8"))
    pairs = list(zip(exact, rounded, strict=True))
    assert any(first.score != second.score for first, second in pairs)
    assert sum(abs(first.score - second.score) < 0.1 for first, second in pairs) > len(pairs) / 2
    alone = decoded(precision="int8", batch_size=1)
    pairs = list(zip(alone, rounded, strict=True))
    # the model is hardly trained, and a score that rounds differently can change what beams keep
    alike = [(first.score, second.score) for first, second in pairs if first.text == second.text]
    assert len(alike) >= len(pairs) - 2
    assert all(first == pytest.approx(second, abs=2e-3) for first, second in alike)
    # on some processors an activation at the edge of two integers becomes the other in a batch
    near = [pair for pair in alike if pair[0] == pytest.approx(pair[1], abs=1e-4)]
    assert len(near) >= len(pairs) - 2


def test_a_folder_is_of_one_precision(refused, tmp_path):
    words = (*WORDS, "--out", tmp_path, "--pairs", "en-de", "--max-len-b", LIMIT)
    assert exit_code(*words, "--precision", "int8") == 0
    made = json.loads((tmp_path / "translate.json").read_text())
    assert made["settings"]["precision"] == "int8"
    texts = lines(tmp_path / "en-de.hyp")
    assert texts == [each.text for each in decoded(precision="int8")]
    refused(*words, names="precision")
    assert lines(tmp_path / "en-de.hyp") == texts


def test_models_and_machines_without_it(refused, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(decoding, "gpus_here", lambda args: 1)
        words = (*WORDS, "--out", tmp_path / "out", "--precision", "int8")
        refused(*words, names="--precision", case="a GPU")
    with refused.raised("no model of this package", names="int8"):
        quantise_model(3)
    monkeypatch.setattr(int8_products, "is_available", lambda: False)
    with refused.raised("no FBGEMM", names="FBGEMM"):
        translator_of(precision="int8")
