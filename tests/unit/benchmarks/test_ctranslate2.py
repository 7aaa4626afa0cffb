"""The comparison of `tdo bench decode` with CTranslate2."""

from argparse import Namespace
from dataclasses import replace

import pytest
from speed.batches import by_sentences
from speed.command import comparisons, version_of_ctranslate2
from speed.jobs import Job
from speed.plan import (
    CTRANSLATE2,
    CTRANSLATE2_INT8,
    DECODES,
    DECODING_BYTES,
    ENCODER_DECODER,
    ENGINES,
    INT8,
    SMALL,
    against_ctranslate2,
)
from speed.text import embedded

from tdo_plugin.errors import UserError
from tdo_plugin.modules.int8_products import Int8Linear

SETTING = replace(SMALL, sentence_length=9, sentences=3, beam=2, threads=1)


def job(system, kind="decoding", **changes):
    text = embedded(SETTING.languages)
    setting = replace(SETTING, **changes)
    batches = by_sentences(text, setting.sentence_length, setting.sentences)
    return Job(kind, system, setting, text.directions, batches, "cpu", "fp32")


def test_every_pair_is_of_compared_systems():
    planned = list(against_ctranslate2("paper"))
    assert {each.kind for each in planned} == {*DECODING_BYTES, "decoding"}
    assert all({*pair} <= {*each.systems} == {*ENGINES} for each in planned for pair in each.pairs)
    timed = [each.setting for each in planned if each.kind == "decoding"]
    loads = {(each.threads, each.sentences, each.vocabulary) for each in timed}
    assert len(timed) == len(loads) == 12
    assert "decoding, 1 sentence, beam 4, vocabulary 8,000, 1 thread" in {
        each.title for each in planned
    }


def test_decode_leaves_training_out():
    flags = {"size": "small", "rounds": 2, "growth": False, "each": False, "plot": None}
    for against in (None, "ctranslate2"):
        args = Namespace(what="decode", against=against, **flags)
        kinds = {each.kind for each, _ in comparisons(args, "cpu")}
        assert kinds <= {*DECODES, "model size"} and "decoding" in kinds


def test_the_package_must_be_there(monkeypatch):
    monkeypatch.setattr("speed.command.CTRANSLATE2", "no-such-package")
    with pytest.raises(UserError, match=r"^`--against` requires .*pip install"):
        version_of_ctranslate2()


def test_ours_in_int8_is_in_int8(running, tmp_path):
    runner = running.Decoding(job(INT8), tmp_path)
    assert any(type(part) is Int8Linear for part in runner.model.modules())
    hypotheses = runner.task.inference_step(runner.generator, [runner.model], runner.samples[0])
    assert {len(each["tokens"]) for ranked in hypotheses for each in ranked} == {9}


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_both_translate_alike(norm, running, tmp_path):
    """The same weights, the same steps, and with beam 1 the same words."""
    words = ("--tdo-norm", norm)
    ours = running.Decoding(replace(job(ENCODER_DECODER, beam=1), extra=words), tmp_path)
    theirs = running.runner_of(replace(job(CTRANSLATE2, beam=1), extra=words), tmp_path)
    for number, sample in enumerate(ours.samples):
        found = ours.task.inference_step(ours.generator, [ours.model], sample)
        symbols = ours.task.target_dictionary.symbols
        expected = [[symbols[token] for token in ranked[0]["tokens"][:-1]] for ranked in found]
        actual = [ranked[0][: SETTING.sentence_length - 1] for ranked in theirs.step(number)]
        assert actual == expected
        assert all(len(ranked[0]) == SETTING.sentence_length for ranked in theirs.step(number))
    assert theirs.run(0) > 0
    assert 0 < replace(ours.job, cpu_time=True).timed(0, theirs.step) < 10


def test_int8_takes_a_quarter(running, tmp_path):
    wide = {"model_dim": 64, "ffn_dim": 512}
    sizes = [
        running.runner_of(job(system, **wide), tmp_path).size()
        for system in (CTRANSLATE2, CTRANSLATE2_INT8)
    ]
    assert sizes[1] < 0.4 * sizes[0]
