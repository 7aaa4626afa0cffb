"""The systems of `tdo bench`, as their processes run them."""

from dataclasses import replace

import pytest
import torch
from speed.batches import by_sentences, by_tokens
from speed.jobs import Job
from speed.plan import ALL, CONCATENATING, OURS, SMALL, STOCK
from speed.text import embedded

SETTING = replace(SMALL, batch_tokens=90, sentence_length=9, sentences=3, beam=2)
MAKE = {"training": (by_tokens, 90), "decoding": (by_sentences, 3)}


def job(system, kind="training", **changes):
    text, (make, size) = embedded(SETTING.languages), MAKE[kind]
    batches = make(text, SETTING.sentence_length, size)
    values = {"setting": SETTING, "device": "cpu", "precision": "fp32", **changes}
    return Job(kind, system, directions=text.directions, batches=batches, **values)


@pytest.fixture(scope="module")
def trained(running, tmp_path_factory):
    """A runner of each system that can train."""
    folder = tmp_path_factory.mktemp
    return {system: running.Training(job(system), folder(system)) for system in ALL}


def test_models_are_as_deep_and_are_updated(trained):
    ours, baseline, stock = (trained[system].model for system in ALL)
    state = baseline.state_dict()
    assert all(torch.equal(value, state[name]) for name, value in ours.state_dict().items())
    assert len(ours.core.stack.layers) == SETTING.depth
    assert len(stock.encoder.layers) + len(stock.decoder.layers) == SETTING.depth
    updates = trained[OURS].trainer.get_num_updates()
    assert trained[OURS].run(1) > 0
    assert trained[OURS].trainer.get_num_updates() == updates + 1


def test_all_have_the_same_batches_with_the_targets_tag(trained):
    for samples in zip(*(trained[system].samples for system in ALL), strict=True):
        first = samples[0]["net_input"]["src_tokens"]
        assert all(torch.equal(sample["net_input"]["src_tokens"], first) for sample in samples)
        assert all(torch.equal(sample["target"], samples[0]["target"]) for sample in samples)
    runner = trained[STOCK]
    sample, batch = runner.samples[0], runner.job.batches[0]
    for number, row in zip(sample["id"], sample["net_input"]["src_tokens"], strict=True):
        tag = row[row.ne(runner.task.source_dictionary.pad())][0]
        language = batch[number].languages[1]
        assert runner.task.source_dictionary[tag] == f"__{language}__"


@pytest.mark.parametrize("system", [OURS, CONCATENATING])
def test_instrucl_is_trained_with(running, system, tmp_path):
    losses = []
    for instrucl in (True, False):
        case = job(system, setting=replace(SETTING, instrucl=instrucl))
        training = running.Training(case, tmp_path)
        training.model.eval()
        losses.append(training.trainer.criterion(training.model, training.samples[0])[0].item())
    assert losses[0] > losses[1] + 1


@pytest.mark.parametrize("system", ALL)
def test_every_hypothesis_takes_all_steps(running, system, tmp_path):
    runner = running.Decoding(job(system, "decoding"), tmp_path)
    hypotheses = runner.task.inference_step(runner.generator, [runner.model], runner.samples[0])
    assert len(hypotheses) == SETTING.sentences
    assert all(len(ranked) == SETTING.beam for ranked in hypotheses)
    lengths = {len(hypothesis["tokens"]) for ranked in hypotheses for hypothesis in ranked}
    assert lengths == {SETTING.sentence_length}
    assert runner.run(0) > 0


def test_further_options_reach_fairseq(running, refused, tmp_path):
    runner = running.Training(job(OURS, extra=("--dropout", "0.25")), tmp_path)
    assert runner.cfg.model.dropout == 0.25
    with refused.raised("no option of fairseq-train", names="--options"):
        running.Training(job(OURS, extra=("--nonsense",)), tmp_path)


def test_work_is_counted_in_tokens_and_sentences():
    training = job(OURS, repeats=3)
    assert training.batches_of(1) == [3, 0, 1]
    tokens = [sum(len(sentence.target) + 1 for sentence in batch) for batch in training.batches]
    assert training.work(1) == tokens[3] + tokens[0] + tokens[1]
    assert job(OURS, "decoding", repeats=2).work(0) == 2 * SETTING.sentences


def test_the_peak_of_a_gpu_is_that_of_all_updates(running, monkeypatch):
    """fairseq resets it after each; the warm-up, before, does not count."""
    memory = {"held": 0, "peak": 1000}

    def reset():
        memory["peak"] = memory["held"]

    def hold(size):
        memory["held"] += size
        memory["peak"] = max(memory.values())

    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", reset)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: memory["peak"])
    with running.most_allocated() as size:
        hold(10)  # parameters
        for activations in (5, 7):
            hold(activations)
            hold(-activations)
            torch.cuda.reset_peak_memory_stats()  # as in fairseq's trainer
    assert size() == 17
    torch.cuda.reset_peak_memory_stats()
    assert memory["peak"] == 10
