"""A memory-mapped binarised set, checked when it is opened or read."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary
from torch import Tensor
from torch.utils.data import Dataset

from tdo_compat.binarised import Side, Words, check_sentence, check_side, open_side, words_of


class MappedSentences(Dataset[Tensor]):
    """One side of a pair as fairseq-preprocess writes it (`mmap` in fairseq).

    fairseq reads both files completely before mapping them. Here the system loads the index, and
    a page of the data when one of its sentences is read. Small files are checked when opened; in
    large files each sentence is checked when it is read.

    Args:
        path: of the two files, without `.idx` and `.bin`.
        dictionary: of the tokens; None: tokens are not checked.

    Attributes:
        sizes: (sentences,) int32, tokens of each with its end.

    Raises:
        DamagedData: the files are incomplete.
    """

    def __init__(self, path: str, dictionary: Dictionary | None = None) -> None:
        side = check_side(path, dictionary)
        unread = dictionary is not None and not side.is_small
        self._take(side, words_of(path, dictionary) if unread else None)

    def _take(self, side: Side, words: Words | None) -> None:
        self._path, self._words = side.prefix, words
        self.sizes, self._places, self._tokens = side.sizes, side.places, side.tokens

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, number: int) -> Tensor:
        """The tokens of a sentence, (tokens,) int64.

        Raises:
            DamagedData: a token is not in the dictionary, or the last is not the end symbol.
        """
        begin = self._places[number] // self._tokens.itemsize
        tokens = self._tokens[begin : begin + self.sizes[number]]
        if self._words is not None:
            check_sentence(self._path, number % len(self), tokens, self._words)
        return torch.from_numpy(tokens.astype(np.int64))

    def __getstate__(self) -> Any:
        return self._path, self._words

    def __setstate__(self, state: Any) -> None:
        path, words = state
        self._take(open_side(path), words)
