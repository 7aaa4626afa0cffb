"""Data sets whose lengths stay in the mapped index until they are needed.

fairseq copies the length of each sentence four to six times for each direction, so the memory of a
process grows with the data: about 20 bytes for each sentence pair of a direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from fairseq.data import BaseWrapperDataset, LanguagePairDataset, PrependTokenDataset
from numpy.typing import NDArray


class Lengths:
    """Lengths of sentences, computed for the requested rows.

    Args:
        columns: (sentences,) each: arrays, lists or other lengths. Several make a table,
            (sentences, columns).
        added: to each length.
    """

    def __init__(self, *columns: Any, added: int = 0) -> None:
        # single lines to translate come with a list
        arrays = (np.asarray(sizes) if isinstance(sizes, list) else sizes for sizes in columns)
        self._columns, self._added = tuple(arrays), added

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, rows: Any) -> Any:
        """Lengths of one or several rows, as an array of them would give."""
        parts = [column[rows] + self._added for column in self._columns]
        return parts[0] if len(parts) == 1 else np.stack(parts, -1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype)


class TaggedSentences(PrependTokenDataset):
    """Sentences after a tag, as fairseq's, without a copy of their lengths."""

    def __init__(self, dataset: Any, tag: int | None) -> None:
        BaseWrapperDataset.__init__(self, dataset)
        self.token = tag
        self._sizes = Lengths(dataset.sizes, added=tag is not None)


class SentencePairs(LanguagePairDataset):
    """A direction, as fairseq's, without copies of its lengths.

    Args:
        source: sentences with `sizes`.
        source_dictionary: theirs.
        target: as many sentences.
        target_dictionary: theirs.
        options: fairseq's.
    """

    def __init__(
        self,
        source: Any,
        source_dictionary: Any,
        target: Any,
        target_dictionary: Any,
        **options: Any,
    ) -> None:
        super().__init__(source, [], source_dictionary, target, [], target_dictionary, **options)
        self.src_sizes, self.tgt_sizes = source.sizes, target.sizes
        self.sizes = Lengths(self.src_sizes, self.tgt_sizes)
