"""The record of a training run, which each of its machines writes."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tdo_plugin.launch.training import Machine
from tdo_plugin.launch.training_record import RECORD, TrainingRecord, read_record


def test_two_machines_write_at_the_same_time(tmp_path, monkeypatch):
    record = TrainingRecord(("--seed 1",), "data", Machine(0, 2, "host:1", 1), "fp32", ())
    both, replace = threading.Barrier(2), os.replace

    def together(source: Path, target: Path) -> None:
        both.wait(60)
        replace(source, target)

    monkeypatch.setattr(os, "replace", together)
    with ThreadPoolExecutor(2) as machines:
        for written in [machines.submit(record.write, tmp_path / "save") for _ in range(2)]:
            written.result()
    assert read_record(tmp_path / "save") == record
    assert [path.name for path in (tmp_path / "save").iterdir()] == [RECORD]
