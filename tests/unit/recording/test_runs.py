"""Runs of a training, their options and states."""

import json
import os
import platform
from argparse import Namespace
from dataclasses import replace

import pytest

from tdo_plugin.recording import runs
from tdo_plugin.recording.runs import LOST, RUNNING

HERE = {"host": platform.node(), "process": os.getpid(), "workers": 1}
RUN = runs.Run("2026-01-01T00:00:00+00:00", "fairseq-train data", {}, {}, None, HERE, {})


def test_options_are_those_that_the_trainer_reads():
    settings = {
        "common": {"_name": None, "seed": 1, "log_interval": 100},
        "generation": {"beam": 5},
        "task": Namespace(task="tdo_translation", seed=2, langs=["de", None], ratio=float("inf")),
        "optimizer": {"_name": "adam", "adam_betas": (0.9, 0.98)},
        "bpe": None,
    }
    assert runs.effective_options(settings) == {
        **{"adam_betas": [0.9, 0.98], "langs": ["de", None], "log_interval": 100},
        **{"optimizer": "adam", "ratio": "inf", "seed": 1, "task": "tdo_translation"},
    }


def test_a_later_run_notes_what_differs(tmp_path):
    made = runs.with_options(runs.with_new_run([], RUN), {"lr": [0.1], "seed": 1, "gone": True})
    made = runs.with_options(runs.with_new_run(made, RUN), {"lr": [0.2], "seed": 1})
    assert made[1].options == {"lr": [0.2], "gone": None}
    made = runs.with_options(runs.with_new_run(made, RUN), {"lr": [0.2], "seed": 1})
    assert made[2].options == {}
    assert runs.options_of(made) == {"lr": [0.2], "seed": 1}
    runs.write_runs(tmp_path, made)
    assert runs.read_runs(tmp_path) == made
    assert runs.read_runs(tmp_path / "none") == []


def test_a_run_without_an_end_is_lost_once_its_process_is_gone():
    gone = replace(RUN, machine={**HERE, "process": 2**22 + 1})
    elsewhere = replace(RUN, machine={**HERE, "host": "another"})
    assert [run.state_now() for run in (RUN, gone, elsewhere)] == [RUNNING, LOST, RUNNING]
    assert gone.outcome() == "lost (killed, or its machine went down)"
    interrupted = replace(RUN, state=runs.INTERRUPTED, reason="by a signal")
    assert interrupted.outcome() == "interrupted by a signal"
    assert replace(RUN, state=runs.FAILED, reason="why").outcome() == "failed: why"
    assert [run.state for run in runs.with_new_run([RUN], RUN)] == [LOST, RUNNING]


@pytest.mark.parametrize("text", ["{", "{}", '[{"started": 1}]'])
def test_a_damaged_file_is_refused(tmp_path, text):
    (tmp_path / "runs.json").write_text(text)
    with pytest.raises(ValueError):
        runs.read_runs(tmp_path)
    runs.write_runs(tmp_path, [RUN])
    assert json.loads((tmp_path / "runs.json").read_text())[0]["state"] == RUNNING
