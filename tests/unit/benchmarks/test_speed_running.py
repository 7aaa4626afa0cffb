"""The systems of `tdo bench`, as their processes run them."""

from dataclasses import replace

import pytest
import torch
from speed.batches import by_sentences, by_tokens
from speed.jobs import Job
from speed.plan import ALL, CONCATENATING, OURS, SMALL, STOCK
from speed.text import embedded

from tdo_plugin.errors import UserError

SETTING = replace(SMALL, batch_tokens=90, sentence_length=9, sentences=3, beam=2)


def job(system, kind="training", **changes):
    text = embedded(SETTING.languages)
    make = by_sentences if kind == "decoding" else by_tokens
    size = SETTING.sentences if kind == "decoding" else SETTING.batch_tokens
    batches = make(text, SETTING.sentence_length, size)
    values = {"setting": SETTING, "device": "cpu", "precision": "fp32", **changes}
    return Job(kind, system, directions=text.directions, batches=batches, **values)


@pytest.fixture(scope="module")
def trained(running, tmp_path_factory):
    """A runner of each system that can train."""
    return {
        system: running.Training(job(system), tmp_path_factory.mktemp(system)) for system in ALL
    }


def test_the_baseline_has_the_very_parameters(trained):
    ours, baseline = (trained[system].model.state_dict() for system in (OURS, CONCATENATING))
    assert ours.keys() == baseline.keys()
    for name, value in ours.items():
        torch.testing.assert_close(value, baseline[name], rtol=0, atol=0)
    layers = trained[OURS].model.core.stack.layers
    assert len(layers) == SETTING.depth


def test_the_stock_model_is_as_deep_and_as_wide(trained):
    model = trained[STOCK].model
    assert len(model.encoder.layers) + len(model.decoder.layers) == SETTING.depth
    assert model.decoder.output_projection.weight is model.encoder.embed_tokens.weight
    entries = SETTING.vocabulary + SETTING.languages
    assert model.encoder.embed_tokens.weight.shape == (entries, SETTING.model_dim)
    assert model.encoder.layers[0].fc1.out_features == SETTING.ffn_dim


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


def test_a_run_is_an_update_of_each_of_its_batches(trained):
    runner = trained[OURS]
    before = runner.trainer.get_num_updates()
    assert runner.run(1) > 0
    assert runner.trainer.get_num_updates() == before + 1


@pytest.mark.parametrize("system", [OURS, CONCATENATING])
def test_instrucl_is_trained_with(running, system, tmp_path):
    contrasted = job(system, setting=replace(SETTING, instrucl=True))
    runner = running.Training(contrasted, tmp_path)
    plain = running.Training(job(system), tmp_path)
    losses = []
    for training in (runner, plain):
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


def test_further_options_reach_fairseq(running, tmp_path):
    runner = running.Training(job(OURS, extra=("--dropout", "0.25")), tmp_path)
    assert runner.cfg.model.dropout == 0.25
    with pytest.raises(UserError, match=r"^`--options` must be .*--nonsense"):
        running.Training(job(OURS, extra=("--nonsense",)), tmp_path)


def test_work_is_counted_in_tokens_and_sentences():
    training = job(OURS, repeats=3)
    assert training.batches_of(1) == [3, 0, 1]
    tokens = [sum(len(sentence.target) + 1 for sentence in batch) for batch in training.batches]
    assert training.work(1) == tokens[3] + tokens[0] + tokens[1]
    assert job(OURS, "decoding", repeats=2).work(0) == 2 * SETTING.sentences


class Memory:
    """A GPU's allocator: what a test allocates, and the peak since the last reset."""

    def __init__(self):
        self.held = self.peak = 0

    def hold(self, size):
        self.held += size
        self.peak = max(self.peak, self.held)

    def reset(self):
        self.peak = self.held


def test_the_peak_of_a_gpu_is_that_of_all_updates(running, monkeypatch):
    """fairseq resets it after each; the warm-up, before, does not count."""
    memory = Memory()
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", memory.reset)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: memory.peak)
    memory.hold(1000)
    memory.hold(-1000)
    with running.most_allocated() as size:
        memory.hold(10)  # parameters
        for activations in (5, 7):
            memory.hold(activations)
            memory.hold(-activations)
            torch.cuda.reset_peak_memory_stats()  # as in fairseq's trainer
    assert size() == 17
    torch.cuda.reset_peak_memory_stats()
    assert memory.peak == 10


def test_fairseqs_trainer_still_resets_the_peak():
    """Otherwise the measurement would need no special care."""
    import inspect

    from fairseq.trainer import Trainer

    assert "torch.cuda.reset_peak_memory_stats()" in inspect.getsource(Trainer.train_step)
