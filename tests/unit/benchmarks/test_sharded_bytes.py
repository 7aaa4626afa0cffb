"""The benchmark that counts what a worker of sharded training holds."""

import pytest
from sharded_bytes import rows


@pytest.mark.long
def test_a_worker_of_two_stores_half() -> None:
    *_, one, two = rows([1, 2], keep=False)
    stored = [[float(cell) for cell in row.split("|")[2:5]] for row in (one, two)]
    assert stored[1] == pytest.approx([value / 2 for value in stored[0]], abs=0.1)
