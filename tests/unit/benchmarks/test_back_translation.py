"""The benchmark's systems do the same work; it is not timed here."""

from unittest import mock

import back_translation as benchmark
import pytest
import torch
from speed.batches import by_tokens
from speed.jobs import Job
from speed.plan import OURS, Setting
from speed.text import embedded
from support.interleaved import printed


@pytest.fixture(scope="module")
def updates(tmp_path_factory):
    setting = Setting(8, 12, 2, 4, 60, languages=3, sentence_length=12, batch_tokens=60)
    text = embedded(setting.languages)
    batches = by_tokens(text, setting.sentence_length, setting.batch_tokens)
    extra = ("--task", "tdo_robt", "--dropout", "0")
    job = Job("training", OURS, setting, text.directions, batches, "cpu", "fp32", extra)
    return benchmark.Updates(job, tmp_path_factory.mktemp("updates"))


def made(updates, system, number=1):
    """The new batch of a system's update, and the seconds that it says it took."""
    new_batches = []
    original = type(updates._hooks[0]).batches

    def batches(hook, *args):
        result = original(hook, *args)
        new_batches.append(result[0][1])
        return result

    circles = mock.patch("tdo_plugin.tasks.robt.search.runs_in_circles", lambda words: False)
    with circles, mock.patch.object(type(updates._hooks[0]), "batches", batches):
        seconds = updates.seconds(system, number)
    return new_batches, seconds


def test_all_searches_find_the_same_and_every_target_has_a_source_as_long(updates):
    updates.trainer.optimizer.set_lr(0.0)
    sources = []
    with mock.patch.object(type(updates.trainer), "lr_step_update", lambda trainer: 0.0):
        for system in benchmark.SYSTEMS[1:]:
            updates.trainer._num_updates = 1  # the same draws
            (batch,), _ = made(updates, system)
            sources.append(batch["net_input"]["src_tokens"])
            lengths = batch["net_input"]["src_lengths"] - 2, batch["target"].ne(1).sum(1) - 1
            assert torch.equal(lengths[0], lengths[1] + 2)
            assert len(batch["id"]) == len(updates.samples[1]["id"])
    for tokens in sources[1:]:
        assert torch.equal(tokens, sources[0])


def test_a_plain_update_has_no_back_translation(updates):
    new_batches, seconds = made(updates, benchmark.PLAIN)
    assert not new_batches
    assert seconds > 0


def test_the_command(tmp_path, monkeypatch, capsys):
    seconds = {"plain": [1.0], "robt": [2.0]}
    assert "2.00 x the plain update" in printed(benchmark, seconds, tmp_path, monkeypatch, capsys)
