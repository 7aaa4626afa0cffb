"""Where a sentence of a data set stands, for messages."""

from typing import Any

import numpy as np


def place_of(dataset: Any, index: int) -> str:
    """The pair and the line of a sentence, from 1; the line alone of text without a pair."""
    if not hasattr(dataset, "keys"):
        return f"line {int(index) + 1}"
    which, row = dataset._get_dataset_and_index(int(index))
    pair = str(dataset.keys[which]).rpartition(":")[2]
    return f"line {int(row) + 1} of {pair}"


def longest(dataset: Any) -> tuple[int, int]:
    """(index, tokens of the longer side) of the longest sentence."""
    indices = np.asarray(dataset.ordered_indices())
    sizes = np.asarray([dataset.num_tokens(index) for index in indices])
    place = int(sizes.argmax())
    return int(indices[place]), int(sizes[place])
