"""Trainings keep their memory: what validations leave, and what is freed on a CPU."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import environment
from support.covering import mostly_full
from support.data import CROSS_ENTROPY, TDO, VALIDATED, databin, databin_zero_shot
from support.fork_server import PYTHON
from support.processes import finished, heard

from tdo_plugin.launch.environment import settings

# The package for --user-dir: the plugin, and a look at memory and child processes at each
# validation, and at each of its batches.
WATCHED = """
import json, os, psutil, fairseq_cli.train, tdo_plugin
from fairseq.tasks import FairseqTask
from tdo_plugin.runtime.memory import tree_memory

validate, valid_step, looks = fairseq_cli.train.validate, FairseqTask.valid_step, []

def children():
    return len(psutil.Process().children(recursive=True))

def watched(*args):
    looks.append({{"before": children(), "during": []}})
    losses = validate(*args)
    looks[-1] |= {{"after": children(), "memory": tree_memory(os.getpid())}}
    with open({path!r}, "w") as file:
        json.dump(looks, file)
    return losses

def step(*args):
    looks[-1]["during"].append(children())
    return valid_step(*args)

fairseq_cli.train.validate, FairseqTask.valid_step = watched, step
"""
VALIDATIONS = 6
OFTEN = ("--validate-interval-updates", "2", "--max-update", str(2 * VALIDATIONS), "--no-save")
READ = 2  # batches of many: fairseq validates on one more than --max-valid-steps
BATCHES = ("--max-tokens", "30", "--max-tokens-valid", "10", "--max-valid-steps", "1")
FLAGS = (*VALIDATED[2:], *TDO, *CROSS_ENTROPY, *OFTEN, *BATCHES, "--num-workers", "1")
BUFFER = ("--sampling-method", "RoundRobin", "--data-buffer-size", "2")  # fairseq has none else
ZERO_SHOT = ("--eval-translation", "all", "--eval-max-len-b", "4")
CASES = {  # data, number of validation sets, flags
    "two sets": (databin, 2, ("--valid-subset", "valid,test")),
    "a buffer": (databin, 1, BUFFER),
    "zero-shot sets": (databin_zero_shot, 1, ZERO_SHOT),
    "back-translation": (databin, 1, ("--task", "tdo_robt")),
}


@pytest.mark.parametrize("name", mostly_full(CASES))
def test_a_validation_leaves_no_process_and_no_memory(name, tmp_path):
    """Of six pairs. One process loads the training set all the time, and one each set in turn."""
    data, sets, more = CASES[name]
    package, found = tmp_path / "watched", tmp_path / "found.json"
    package.mkdir()
    (package / "__init__.py").write_text(WATCHED.format(path=str(found)))
    words = ["--user-dir", package, "--save-dir", tmp_path, "--task", "tdo_translation"]
    train = Path(PYTHON).with_name("fairseq-train")  # itself, with memory and children of its own
    heard(finished([train, data(), *words, *FLAGS, *more], env=environment()))
    looks = json.loads(found.read_text())
    assert len(looks) == VALIDATIONS
    for look in looks:
        assert look["before"] == look["after"] == 1
        assert look["during"] == [2] * sets * READ
    assert looks[-1]["memory"] <= 1.2 * looks[0]["memory"]


TUNING = ("GLIBC_TUNABLES", "MALLOC_")
INSIDE = """
from tdo_plugin.launch.environment import tune_training
tune_training(cpu=True)
"""
FAULTS = """
import resource
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(30):
    block = b"x" * (40 << 20)  # glibc may keep smaller ones by itself
    del block
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.full
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_is_not_fetched_anew() -> None:
    def faults(code: str = FAULTS, **variables: str) -> int:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(TUNING)}
        environment = {**inherited, **variables}
        command = [sys.executable, "-c", code]
        return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)

    usual = faults()
    assert faults(**settings(0)) < usual / 4
    assert faults(INSIDE + FAULTS) < usual / 4
    # the user's own settings are kept
    assert faults(INSIDE + FAULTS, MALLOC_MMAP_THRESHOLD_="65536") > usual / 2
