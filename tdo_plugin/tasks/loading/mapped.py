"""A binarised set that is opened without being read."""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np
import torch
from fairseq.data import indexed_dataset
from torch import Tensor
from torch.utils.data import Dataset

from tdo_plugin.errors import UserError

# magic, version, type of the numbers, sentences; then lengths (int32) and places in bytes (int64)
_HEADER = struct.Struct("<9sQBQ")
_KIND = (indexed_dataset.MMapIndexedDataset.Index._HDR_MAGIC, 1)


class MappedSentences(Dataset):
    """One side of a pair as fairseq-preprocess writes it, `mmap` by fairseq's name.

    fairseq reads all of both files before it maps them. Here the system fetches a page when a
    sentence on it is asked for; of the index, that is the part with the lengths.

    Args:
        path: of the two files, without `.idx` and `.bin`.

    Attributes:
        sizes: (sentences,) int32, tokens of each with its end.

    Raises:
        UserError: the files are not whole.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            index = np.memmap(indexed_dataset.index_file_path(path), mode="r")
            magic, version, code, count = _HEADER.unpack_from(index)
            if (magic, version) != _KIND:
                raise ValueError("another format")
            dtype = np.dtype(indexed_dataset._code_to_dtype[code])
            self.sizes = np.frombuffer(index, np.int32, count, _HEADER.size)
            self._places = np.frombuffer(index, np.int64, count, _HEADER.size + self.sizes.nbytes)
        except (struct.error, ValueError, KeyError):
            raise UserError(f"`data` must hold whole files; {path}.idx is not one") from None
        file = indexed_dataset.data_file_path(path)
        end = self._places[-1] + self.sizes[-1] * dtype.itemsize if count else 0
        if (size := os.path.getsize(file)) != end:
            raise UserError(
                f"`data` must hold whole files; {path}.bin has {size} bytes, {end} by its index"
            )
        # a file without a byte cannot be mapped
        tokens = np.memmap(file, mode="r") if end else np.empty(0, np.uint8)
        self._tokens = np.frombuffer(tokens, dtype)

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, number: int) -> Tensor:
        """The tokens of a sentence, (tokens,) int64."""
        begin = self._places[number] // self._tokens.itemsize
        tokens = self._tokens[begin : begin + self.sizes[number]]
        return torch.from_numpy(tokens.astype(np.int64))

    def __reduce__(self) -> Any:
        return type(self), (self._path,)
