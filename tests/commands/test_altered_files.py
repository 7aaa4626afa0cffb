"""One value of a file is another: refused in one line, or what comes out is as the value has it.

Of 1,000 changes of files of all kinds none ends in a traceback, and none in another result without
a word. docs/design/testing.md has what they ended with; `-rP` shows it.
"""

import shutil
from collections import Counter
from pathlib import Path

import pytest
from support.altered.data_folders import INSPECTED, LISTED
from support.altered.outcomes import AS_ALTERED, REFUSED, SAME, Subject, ended
from support.altered.subjects import SUBJECTS

SEED = 1
QUICK, FULL = 12, 125  # changes of each kind


def _run(subject: Subject, numbers: range, tmp_path: Path) -> Counter[str]:
    shutil.copytree(subject.make(), tmp_path / "usual")
    usual = subject.run(tmp_path / "usual")
    assert usual.code == 0, usual.errors
    counts: Counter[str] = Counter()
    for number in numbers:
        seed = f"{SEED} {subject.name} {number}"
        counts[ended(subject, usual, seed, tmp_path / str(number))[0]] += 1
        for left in tmp_path.glob(f"{number}*"):
            shutil.rmtree(left)
    print(f"{subject.name}: {', '.join(f'{counts[how]} {how}' for how in HOW)}")
    return counts


HOW = (REFUSED, SAME, AS_ALTERED)


@pytest.mark.long
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_a_share_of_the_changes(subject: Subject, tmp_path: Path) -> None:
    assert _run(subject, range(QUICK), tmp_path)[REFUSED] > 0


@pytest.mark.full
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_all_changes(subject: Subject, tmp_path: Path) -> None:
    counts = _run(subject, range(FULL), tmp_path)
    assert counts.total() == FULL and counts[REFUSED] > 0
    # a folder that says what it was shows each change that matters
    assert subject not in (LISTED, INSPECTED) or not counts[AS_ALTERED]
