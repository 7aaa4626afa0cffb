"""The benchmark's systems differ in masks alone and have the same batches; it is not timed here."""

import neuron_masks as benchmark
import torch
from speed.batches import by_tokens
from speed.interleaved import Case
from speed.plan import Setting
from speed.text import embedded
from support.interleaved import assert_trains


def test_both_systems_update_on_the_same_batches(tmp_path):
    setting = Setting(8, 12, 2, 4, 60, languages=3, sentence_length=12, batch_tokens=60)
    text = embedded(setting.languages)
    batches = by_tokens(text, setting.sentence_length, setting.batch_tokens)
    case = Case(setting, text, batches, "cpu", "fp32", "--dropout 0")
    systems = benchmark.trainings(case, tmp_path)
    plain, masked = (systems[name] for name in ("plain", "masked"))
    assert plain.model.core.neurons is None
    share = masked.model.core.neurons.masks.float().mean()
    assert 0.85 < share < 0.98
    for training in (plain, masked):
        assert_trains(training)
    for mine, its in zip(plain.samples, masked.samples, strict=True):
        assert torch.equal(mine["target"], its["target"])
