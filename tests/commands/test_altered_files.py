"""One value of a file is another: refused in one line, or a result of the same commands.

Of 1,000 changes of files of all kinds none ends in a traceback; a data folder says what it was, and
shows each change that matters. docs/design/testing.md has how they ended; `-rP` shows it.
"""

import itertools
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.altered import REFUSED, Subject, outcome
from support.altered_subjects import SUBJECTS

QUICK, FULL = 12, 125  # changes of each kind


@pytest.mark.parametrize("changes", [QUICK, pytest.param(FULL, marks=pytest.mark.full)])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_one_value_is_another(subject: Subject, changes: int, tmp_path: Path) -> None:
    shutil.copytree(subject.make(), tmp_path / "usual")
    usual = subject.run(tmp_path / "usual")
    assert usual.code == 0, usual.errors
    counts: Counter[str] = Counter()
    numbers = itertools.count()

    @settings(max_examples=changes, derandomize=True, deadline=None, database=None)
    @given(st.data())
    def ends_well(data: st.DataObject) -> None:
        # another name each time, since commands may keep what they have read by its name
        counts[outcome(subject, usual, data, tmp_path / str(next(numbers)))] += 1

    ends_well()
    print(f"{subject.name}: {counts}")
    assert counts[REFUSED] > 0 or changes == QUICK
