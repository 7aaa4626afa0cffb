"""The comparison of `tdo bench decode` with CTranslate2."""

from dataclasses import replace

import pytest
from speed.batches import by_sentences
from speed.command import version_of_ctranslate2
from speed.jobs import Job
from speed.plan import (
    CTRANSLATE2,
    CTRANSLATE2_INT8,
    DECODING_BYTES,
    ENCODER_DECODER,
    ENGINES,
    INT8,
    SMALL,
    against_ctranslate2,
)
from speed.text import embedded

from tdo_plugin.modules.int8_products import Int8Linear

SETTING = replace(SMALL, sentence_length=9, sentences=3, beam=2, threads=1)


def job(system, extra=(), **changes):
    text, setting = embedded(SETTING.languages), replace(SETTING, **changes)
    batches = by_sentences(text, setting.sentence_length, setting.sentences)
    return Job("decoding", system, setting, text.directions, batches, "cpu", "fp32", extra)


def test_what_is_compared(refused, monkeypatch):
    planned = list(against_ctranslate2("paper"))
    assert {each.kind for each in planned} == {*DECODING_BYTES, "decoding"}
    assert all({*pair} <= {*each.systems} == {*ENGINES} for each in planned for pair in each.pairs)
    monkeypatch.setattr("speed.command.CTRANSLATE2", "no-such-package")
    with refused.raised("without the package", names="--against"):
        version_of_ctranslate2()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_both_translate_alike(norm, running, tmp_path):
    """The same weights, the same steps, and with beam 1 the same words."""
    words = ("--tdo-norm", norm)
    ours = running.Decoding(job(ENCODER_DECODER, words, beam=1), tmp_path)
    theirs = running.runner_of(job(CTRANSLATE2, words, beam=1), tmp_path)
    for number, sample in enumerate(ours.samples):
        found = ours.task.inference_step(ours.generator, [ours.model], sample)
        symbols = ours.task.target_dictionary.symbols
        expected = [[symbols[token] for token in ranked[0]["tokens"][:-1]] for ranked in found]
        actual = [ranked[0][: SETTING.sentence_length - 1] for ranked in theirs.step(number)]
        assert actual == expected
        assert all(len(ranked[0]) == SETTING.sentence_length for ranked in theirs.step(number))
    assert theirs.run(0) > 0
    assert 0 < replace(ours.job, cpu_time=True).timed(0, theirs.step) < 10


def test_int8(running, tmp_path):
    """Ours is in int8; theirs takes a quarter."""
    runner = running.Decoding(job(INT8), tmp_path)
    assert any(type(part) is Int8Linear for part in runner.model.modules())
    hypotheses = runner.task.inference_step(runner.generator, [runner.model], runner.samples[0])
    assert {len(each["tokens"]) for ranked in hypotheses for each in ranked} == {9}
    systems = (CTRANSLATE2, CTRANSLATE2_INT8)
    wide = (job(system, model_dim=64, ffn_dim=512) for system in systems)
    full, quarter = (running.runner_of(each, tmp_path).size() for each in wide)
    assert quarter < 0.4 * full
