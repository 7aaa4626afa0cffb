"""The benchmark's data and arithmetic; it is not timed here."""

from pathlib import Path

import start_up as benchmark
from support.data import TAG, TDO, TRAIN, built


def test_ratios_are_taken_within_a_round() -> None:
    seconds = {"stock": [10.0, 20.0, 9.0], "lean": [5.0, 5.0, 3.0]}
    measured = {
        system: [{"update": value} for value in values] for system, values in seconds.items()
    }
    stock, lean = benchmark.rows(measured, "seconds")
    assert (stock["ratio"], stock["spread"]) == (1, [1, 1])
    assert (lean["median"], lean["ratio"], lean["spread"]) == (5, 3, [2, 4])
    assert lean["metric"] == "update, seconds"


def test_systems_take_turns() -> None:
    calls = []

    def run(words):
        calls.append(words)
        return {"update": 1.0}

    benchmark.measure(run, {"stock": ["a"], "lean": ["b"]}, ["x"], 3, lambda: calls.append("-"))
    assert [call[-1] for call in calls if call != "-"] == ["a", "b", "b", "a", "a", "b"]
    assert calls[::2] == ["-"] * 6


def test_the_data_can_be_trained_on(tmp_path: Path) -> None:
    languages = benchmark.names(9)
    assert len(set(languages)) == 9
    benchmark.make_data(tmp_path, languages, 1100, 5000)
    flags = ("--langs", ",".join(languages), "--lang-pairs", "en-de2,de2-en,ja-en2")
    task, _, _ = built("--task", "tdo_translation", *flags, *TRAIN, *TDO, *TAG, data=tmp_path)
    task.load_dataset("train")
    task.load_dataset("valid")
    assert [len(dataset) for dataset in task.dataset("train").datasets] == [1100] * 3
    assert len(task.dataset("valid")) == 3 * benchmark.VALID
    first = task.dataset("train").datasets[0][0]
    words = [task.source_dictionary.string(first[side]) for side in ("source", "target")]
    assert words[0].startswith("__de2__ ")
    assert words[0].split()[1:] != words[1].split()
    assert "<unk>" not in words[0] + words[1]
