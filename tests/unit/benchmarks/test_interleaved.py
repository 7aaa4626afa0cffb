"""Systems that are trained in turns: the arithmetic, and that all do the same work."""

from unittest import mock

import back_translation
import disentangling
import neuron_masks
import pytest
import torch
from speed import interleaved
from speed.batches import by_tokens
from speed.jobs import Job
from speed.plan import OURS, Setting
from speed.text import embedded

SETTING = Setting(8, 12, 2, 4, 60, languages=3, sentence_length=12, batch_tokens=60)
TEXT = embedded(SETTING.languages)
BATCHES = by_tokens(TEXT, SETTING.sentence_length, SETTING.batch_tokens)
SMALLER = "--tdo-model-dim 8 --tdo-ffn-dim 12 --tdo-heads 2 --dropout 0"


def test_turns_are_in_another_order_each_round_and_the_first_does_not_count():
    order = []

    def way(name, seconds):
        return lambda number: order.append((name, number)) or seconds + number

    ways = {"plain": way("plain", 1.0), "other": way("other", 2.0)}
    messages = []
    times = interleaved.turns(ways, 2, messages.append)
    assert times == {"plain": [2.0, 3.0], "other": [3.0, 4.0]}
    names = ["plain", "other", "other", "plain", "plain", "other"]
    assert order == [*zip(names, [0, 0, 1, 1, 2, 2], strict=True)]
    assert messages[0] == "round 0, plain: 1.00 s"


def test_ratios_are_taken_within_a_round():
    times = {"plain": [1.0, 2.0, 4.0], "robt": [2.0, 5.0, 12.0]}
    (row,) = interleaved.rows(times, "an update", {"size": 1})
    assert (row["system"], row["baseline"], row["metric"]) == ("robt", "plain", "an update")
    assert (row["ratio"], row["spread"]) == (2.5, [2.0, 3.0])
    assert row["settings"] == {
        **{"size": 1, "unit": "seconds per update"},
        **{"cost": 5.0, "baseline_cost": 2.0, "rounds": 3},
    }
    assert interleaved.line(row).endswith(
        "5.000 s per update, 2.50 x the plain update (2.00 to 3.00)"
    )


@pytest.mark.parametrize("benchmark", [back_translation, disentangling])
def test_the_command(benchmark, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "measure", lambda *_: {"plain": [1.0], "other": [1.5]})
    monkeypatch.setattr("os.execve", lambda *_: None)
    report = tmp_path / "report.json"
    words = ["--size", "small", "--batch-tokens", "300", "--device", "cpu", "--json", str(report)]
    monkeypatch.setattr("sys.argv", [f"{benchmark.__name__}.py", *words])
    benchmark.main()
    assert '"batch_tokens": 300' in report.read_text(encoding="utf-8")
    assert "1.50 x the plain update" in capsys.readouterr().out


def test_systems_update_on_the_same_batches(tmp_path):
    case = interleaved.Case(SETTING, TEXT, BATCHES, "cpu", "fp32", SMALLER)
    tpdm = disentangling.trainings(case, "small", tmp_path)
    (tmp_path / "masks").mkdir()
    masks = neuron_masks.trainings(case, tmp_path / "masks")
    assert ([*tpdm], [*masks]) == (["plain", "TPDM", "GTPDM"], ["plain", "masked"])
    for training in (*tpdm.values(), *masks.values()):
        before = [parameter.clone() for parameter in training.model.parameters()]
        assert training.run(0) > 0  # with the learning rate at the warm-up's begin, 0
        assert training.run(1) > 0
        assert not all(map(torch.equal, before, training.model.parameters()))
        for mine, plain in zip(training.samples, tpdm["plain"].samples, strict=True):
            assert torch.equal(mine["target"], plain["target"])
    assert masks["plain"].model.core.neurons is None
    assert 0.85 < masks["masked"].model.core.neurons.masks.float().mean() < 0.98


@pytest.mark.parametrize(
    ("size", "millions"), [("small", ["30.781", "31.046"]), ("base", ["94.642", "95.696"])]
)
def test_parameters_are_the_paper_s(size, millions):
    for count, line in zip(millions, disentangling.parameters(size), strict=True):
        assert f"{count} million parameters, {count} in the paper" in line


def test_all_searches_find_the_same_and_every_target_has_a_source_as_long(tmp_path):
    extra = ("--task", "tdo_robt", "--dropout", "0")
    job = Job("training", OURS, SETTING, TEXT.directions, BATCHES, "cpu", "fp32", extra)
    updates = back_translation.Updates(job, tmp_path)
    hook, made = type(updates._hooks[0]), []
    original = hook.batches

    def batches(self, *args):
        result = original(self, *args)
        made.append(result[0][1])
        return result

    updates.trainer.optimizer.set_lr(0.0)
    circles = mock.patch("tdo_plugin.tasks.robt.search.runs_in_circles", lambda words: False)
    with (
        circles,
        mock.patch.object(hook, "batches", batches),
        mock.patch.object(type(updates.trainer), "lr_step_update", lambda trainer: 0.0),
    ):
        for system in back_translation.SYSTEMS:
            updates.trainer._num_updates = 1  # the same draws
            assert updates.seconds(system, 1) > 0
            assert bool(made) == (system != back_translation.PLAIN)
    assert len(made) == len(back_translation.SYSTEMS) - 1
    for batch in made:
        assert torch.equal(batch["net_input"]["src_tokens"], made[0]["net_input"]["src_tokens"])
        lengths = batch["net_input"]["src_lengths"] - 2, batch["target"].ne(1).sum(1) - 1
        assert torch.equal(lengths[0], lengths[1] + 2)
        assert len(batch["id"]) == len(updates.samples[1]["id"])
