"""What results say of the code that made them."""

import subprocess
from pathlib import Path

import pytest

from tdo_plugin.runtime.provenance import git_commit, made_by

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout")
def test_the_commit_is_that_of_the_checkout():
    words = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    head = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    assert git_commit().rstrip("+") == head
    assert made_by("tdo")["commit"] == git_commit()
