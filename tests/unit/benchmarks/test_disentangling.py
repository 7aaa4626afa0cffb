"""The benchmark's systems differ in TPDM alone and have the same batches; it is not timed here."""

import disentangling as benchmark
import pytest
import torch
from speed.batches import by_tokens
from speed.interleaved import Case
from speed.plan import Setting
from speed.systems import words
from speed.text import embedded
from support.interleaved import assert_trains, printed

SMALLER = "--tdo-model-dim 8 --tdo-ffn-dim 12 --tdo-heads 2 --dropout 0"


@pytest.mark.parametrize("size", ["small", "base"])
def test_sizes_are_the_configs(size):
    setting = benchmark.SIZES[size]
    for name in benchmark.SYSTEMS:
        parsed = benchmark.config(name, size)
        sides = {parsed.integer(f"--tdo-{side}coder-layers", 1) for side in ("en", "de")}
        assert sides == {setting.depth // 2}
        for name in ("model-dim", "ffn-dim", "heads"):
            assert parsed.integer(f"--tdo-{name}", 1) == getattr(setting, name.replace("-", "_"))


def test_a_config_is_measured_without_its_validation(tmp_path):
    config = benchmark.config("plain", "small")
    file = tmp_path / "system.conf"
    file.write_text("\n".join(config.lines()))
    command = words(benchmark.row("plain", "small"), benchmark.SIZES["small"])
    assert command == words(str(file), benchmark.SIZES["small"])
    assert "--eval-translation" in config.words()
    assert not [word for word in command if "eval" in word or "best-checkpoint" in word]
    assert command[command.index("--criterion") + 1] == "label_smoothed_cross_entropy_terms"


@pytest.mark.parametrize(
    ("size", "millions"), [("small", ["30.781", "31.046"]), ("base", ["94.642", "95.696"])]
)
def test_parameters_are_the_paper_s(size, millions):
    lines = list(benchmark.parameters(size))
    for count, line in zip(millions, lines, strict=True):
        assert f"{count} million parameters, {count} in the paper" in line


def test_all_systems_update_on_the_same_batches(tmp_path):
    setting = Setting(8, 12, 2, 6, 60, languages=3, sentence_length=12, batch_tokens=60)
    text = embedded(setting.languages)
    batches = by_tokens(text, setting.sentence_length, setting.batch_tokens)
    case = Case(setting, text, batches, "cpu", "fp32", SMALLER)
    systems = benchmark.trainings(case, "small", tmp_path)
    assert list(systems) == ["plain", "TPDM", "GTPDM"]
    for training in systems.values():
        assert_trains(training)
        for mine, plain in zip(training.samples, systems["plain"].samples, strict=True):
            assert torch.equal(mine["target"], plain["target"])


def test_the_command(tmp_path, monkeypatch, capsys):
    seconds = {"plain": [1.0], "TPDM": [1.5], "GTPDM": [1.6]}
    assert "1.50 x the plain update" in printed(benchmark, seconds, tmp_path, monkeypatch, capsys)
