"""What is said of a batch that memory lacks for."""

import pytest
import torch

from tdo_compat.shutdown import _shape

TEXT, TARGET = {"src_tokens": torch.zeros(3, 7)}, torch.zeros(3, 5)
SPEECH = {"source": torch.zeros(3, 7)}


@pytest.mark.parametrize(
    ("batch", "shape"),
    [
        ({"net_input": TEXT, "target": TARGET}, "3 sentences x 7 source tokens x 5 target tokens"),
        # fairseq's other tasks: a class of each sentence, speech, no target
        ({"net_input": TEXT, "target": torch.zeros(3)}, "3 sentences x 7 source tokens"),
        ({"net_input": SPEECH, "target": TARGET}, "3 sentences x 5 target tokens"),
        ({"net_input": SPEECH, "target": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_the_size_of_a_batch_is_said_of_all_tasks(batch: object, shape: str | None) -> None:
    assert _shape(batch) == shape
