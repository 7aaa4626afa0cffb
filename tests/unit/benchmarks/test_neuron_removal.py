"""Neurons are drawn of every kind, and correlations are what they should be."""

import json
import sys

import neuron_removal as benchmark
import pytest
from support.prepared import prepared, trained

from tdo_plugin.cli import main


def test_neurons_of_every_kind():
    widths = {
        "layers.0.attention.query": 4,
        "layers.1.attention.query": 4,
        "layers.0.feed_forward.inner": 2,
    }
    neurons = benchmark.sampled(widths, 3, 1)
    assert len(set(neurons)) == 5
    assert [name for name, _ in neurons].count("layers.0.feed_forward.inner") == 2
    assert neurons == benchmark.sampled(widths, 3, 1) != benchmark.sampled(widths, 3, 2)


def test_correlations():
    assert benchmark.ranks([5.0, 1.0, 5.0, 2.0]).tolist() == [2.5, 0.0, 2.5, 1.0]
    measured = benchmark.correlations([1.0, 2.0, 3.0], [1.0, 4.0, 9.0])
    assert measured["spearman"] == pytest.approx(1) and 0.9 < measured["pearson"] < 0.999
    assert benchmark.correlations([1.0, 1.0], [1.0, 2.0]) == {"spearman": None, "pearson": None}


def test_the_command(tmp_path, monkeypatch, capsys):
    path, theta = trained("--max-update", "5"), tmp_path / "theta"
    inputs = ["--path", str(path), "--data", str(prepared().root)]
    few = ["--sentences", "4"]
    words = [*inputs, "--out", str(theta), "--pairs", "de-en", "--cpu", *few]
    assert main(["neurons", "importance", *words]) == 0
    report = tmp_path / "report.json"
    words = [*inputs, *few, "--importance", str(theta), "--pair", "de-en", "--neurons", "2"]
    monkeypatch.setattr(sys, "argv", ["neuron_removal.py", *words, "--json", str(report)])
    benchmark.main()
    results = json.loads(report.read_text(encoding="utf-8"))
    kinds = ("query", "key", "value", "out")
    names = {f"layers attention {kind}" for kind in kinds}
    names |= {f"layers feed_forward {kind}" for kind in ("inner", "outer")}
    assert set(results["summary"]) == {*names, "all"}
    assert results["summary"]["all"]["neurons"] == len(results["neurons"]) == 12
    assert "layers attention key" in capsys.readouterr().out
    # to first order the removal of a neuron is what the signed sum says
    assert results["summary"]["all"]["signed"]["pearson"] > 0.5
