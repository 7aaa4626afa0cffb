"""The systems of `tdo bench`, as their processes run them, and those that it is held against."""

from dataclasses import replace

import pytest
import torch
from speed import plan, whole_training
from speed.batches import by_sentences, by_tokens, pool
from speed.command import version_of_ctranslate2
from speed.jobs import Job
from speed.plan import ALL, CONCATENATING, OURS, SMALL, STOCK
from speed.text import embedded
from support.covering import mostly_full
from support.data import kept_logging

from tdo_plugin.launch.training import last_value
from tdo_plugin.modules.int8_products import Int8Linear

SETTING = replace(SMALL, batch_tokens=90, sentence_length=9, sentences=3, beam=2)
MAKE = {"training": (by_tokens, 90), "decoding": (by_sentences, 3)}


def job(system, kind="training", **changes):
    text, (make, size) = embedded(SETTING.languages), MAKE[kind]
    batches = make(text, SETTING.sentence_length, size)
    values = {"setting": SETTING, "device": "cpu", "precision": "fp32", **changes}
    return Job(kind, system, directions=text.directions, batches=batches, **values)


@pytest.fixture(scope="module")
def running():
    """`speed.running`, which logs when it is imported."""
    with kept_logging():
        from speed import running
    return running


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


@pytest.mark.parametrize("system", mostly_full([OURS, CONCATENATING]))
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


def whole(system):
    """A training whose processes are weighed."""
    setting = replace(SETTING, batch_tokens=60)
    batches = (pool(embedded(setting.languages), setting.sentence_length, setting.batch_tokens),)
    return replace(job(system, setting=setting), kind="tree memory", batches=batches)


def test_each_is_a_users_command_that_trains_and_validates_every_direction(tmp_path):
    whole_training._write_data(whole(OURS), tmp_path)
    ours, stock = (whole_training._command(whole(system), tmp_path) for system in (OURS, STOCK))
    directions = {"-".join(direction) for direction in embedded(SETTING.languages).directions}
    for command in (ours, stock):
        assert {*last_value(command, "--lang-pairs").split(",")} == directions
        assert "--disable-validation" not in command and "--cpu" in command
    for direction in directions:
        for split in ("train", "valid"):
            assert len(list(tmp_path.glob(f"{split}.{direction}.*.idx"))) == 2
    assert last_value(ours, "--user-dir") and not {"--user-dir", "--num-workers"} & {*stock}


def test_a_training_that_fails_is_one_line(refused, tmp_path, monkeypatch):
    failing = ["sh", "-c", "echo first; echo last; exit 1"]
    monkeypatch.setattr(whole_training, "_command", lambda *_: failing)
    with refused.raised("a failing training", names="it says: last"):
        whole_training._peak(whole(OURS), tmp_path)


def decoding(system, *extra, **changes):
    setting = replace(SETTING, threads=1, **changes)
    return job(system, "decoding", setting=setting, extra=extra)


def test_what_is_compared(refused, monkeypatch):
    planned = list(plan.against_ctranslate2("paper"))
    assert {each.kind for each in planned} == {*plan.DECODING_BYTES, "decoding"}
    assert all(
        {*pair} <= {*each.systems} == {*plan.ENGINES} for each in planned for pair in each.pairs
    )
    monkeypatch.setattr("speed.command.CTRANSLATE2", "no-such-package")
    with refused.raised("without the package", names="--against"):
        version_of_ctranslate2()


@pytest.mark.full
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_both_translate_alike(norm, running, tmp_path):
    """The same weights, the same steps, and with beam 1 the same words."""
    words = ("--tdo-norm", norm)
    ours = running.Decoding(decoding(plan.ENCODER_DECODER, *words, beam=1), tmp_path)
    theirs = running.runner_of(decoding(plan.CTRANSLATE2, *words, beam=1), tmp_path)
    for number, sample in enumerate(ours.samples):
        found = ours.task.inference_step(ours.generator, [ours.model], sample)
        symbols = ours.task.target_dictionary.symbols
        expected = [[symbols[token] for token in ranked[0]["tokens"][:-1]] for ranked in found]
        actual = [ranked[0][: SETTING.sentence_length - 1] for ranked in theirs.step(number)]
        assert actual == expected
        assert all(len(ranked[0]) == SETTING.sentence_length for ranked in theirs.step(number))
    assert theirs.run(0) > 0
    assert 0 < replace(ours.job, cpu_time=True).timed(0, theirs.step) < 10


@pytest.mark.full
def test_int8(running, tmp_path):
    """Ours is in int8; theirs takes a quarter."""
    runner = running.Decoding(decoding(plan.INT8), tmp_path)
    assert any(type(part) is Int8Linear for part in runner.model.modules())
    hypotheses = runner.task.inference_step(runner.generator, [runner.model], runner.samples[0])
    assert {len(each["tokens"]) for ranked in hypotheses for each in ranked} == {9}
    systems = (plan.CTRANSLATE2, plan.CTRANSLATE2_INT8)
    wide = (decoding(system, model_dim=64, ffn_dim=512) for system in systems)
    full, quarter = (running.runner_of(each, tmp_path).size() for each in wide)
    assert quarter < 0.4 * full
