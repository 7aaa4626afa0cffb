"""What the tests of benchmarks share that train their systems in turns."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch


def assert_trains(training: Any) -> None:
    """A training of a benchmark changes its parameters.

    Its second update does: the learning rate of the first, where the warm-up begins, is 0.
    """
    before = [parameter.clone() for parameter in training.model.parameters()]
    assert training.run(0) > 0
    assert training.run(1) > 0
    after = training.model.parameters()
    assert not all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


def printed(
    benchmark: ModuleType,
    seconds: Mapping[str, Sequence[float]],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """What a benchmark prints if its systems take these seconds; its file is looked at, too."""
    monkeypatch.setattr(benchmark, "measure", lambda *_: seconds)
    monkeypatch.setattr("os.execve", lambda *_: None)
    report = folder / "report.json"
    words = ["--size", "small", "--batch-tokens", "300", "--device", "cpu", "--json", str(report)]
    monkeypatch.setattr(sys, "argv", [f"{benchmark.__name__}.py", *words])
    benchmark.main()
    assert '"batch_tokens": 300' in report.read_text(encoding="utf-8")
    return capsys.readouterr().out
