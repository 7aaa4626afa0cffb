"""One row of each paper's tables really runs, from its data to its checkpoint, with a few updates.

What every other row runs is held by test_golden.py; the full tier runs them all.
"""

from pathlib import Path

import pytest
from support.scripts import script

ROWS = {
    "tdo_table1.sh": ("ted19/tdo-prefix-adaptation-instrucl", 1),
    "opus100_table4.sh": ("many-to-many/6-layers-matt-laln-lalt", 1),
    "tpdm_table1.sh": ("europarl/mnmt-tpdm-small", 1),
    "tlm_table6.sh": ("de-en/5-layers", 1),
    "neurons_table1.sh": ("many-to-many/masked-taylor-0.9-0.7-pair", 2),  # and what it goes on from
}


@pytest.mark.long
@pytest.mark.parametrize("name", ROWS)
def test_one_row_of_each_paper(name: str, clone: Path, tmp_path: Path) -> None:
    row, trainings = ROWS[name]
    words = ("--smoke", "--rows", row, "--out", tmp_path)
    assert script(clone, name, *words).stdout.count("training begins") == trainings
    logs = sorted(tmp_path.rglob("train.log"))
    assert len(logs) == trainings
    for log in logs:
        assert "done training" in log.read_text()
        assert list((log.parent / "checkpoints").glob("*.pt"))
    again = script(clone, name, *words).stdout
    assert again.count("is trained already") == trainings
