"""Locates sentences of data sets for messages."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def place_of(dataset: Any, index: int, pair: Sequence[str | None] = ()) -> str:
    """The line of a sentence, from 1, and its pair if known.

    Args:
        dataset: of one pair, or of several.
        index: of the sentence in the data set.
        pair: languages of a single pair.
    """
    row, name = index, "-".join(filter(None, pair))
    if hasattr(dataset, "keys"):
        which, row = dataset._get_dataset_and_index(int(index))
        name = str(dataset.keys[which]).rpartition(":")[2]
    return f"line {int(row) + 1}" + (f" of {name}" if name else "")


def longest(dataset: Any) -> tuple[int, int]:
    """(index, tokens of the longer side) of the longest sentence."""
    indices = np.asarray(dataset.ordered_indices())
    sizes = np.asarray([dataset.num_tokens(index) for index in indices])
    place = int(sizes.argmax())
    return int(indices[place]), int(sizes[place])
