"""What a CPU training is started with keeps its freed memory."""

import os
import platform
import subprocess
import sys

import pytest

from tdo_plugin.launch.environment import settings

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
