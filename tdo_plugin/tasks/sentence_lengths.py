"""Reports sentences that are longer than the model or a batch allows, in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tdo_plugin.errors import UserError
from tdo_plugin.tasks.sentence_places import longest, place_of


class SentenceLengths:
    """Checks of sentence lengths and of empty sets, with messages.

    Args:
        task: its ``datasets`` are named by split, and by direction if there is one.
    """

    def __init__(self, task: Any) -> None:
        self._task = task

    def check(self, dataset: Any, indices: Any, limits: Any, skips: bool) -> Any:
        """Refuse a set with sentences that are too long, or with ``skips``, without any that fit.

        Args:
            dataset: one of the task's, or another one.
            indices: of its sentences.
            limits: maximum number of tokens (source, target).
            skips: whether longer sentences are left out.

        Returns:
            the indices of sentences that fit.

        Raises:
            UserError: the set is empty, no sentence fits, or a sentence is too long.
        """
        split = next(
            (key for key, loaded in self._task.datasets.items() if loaded is dataset), None
        )
        if split and not len(indices):
            raise UserError(f"`data` must have sentences; {self._shown(split)} has none")
        kept, longer = dataset.filter_indices_by_size(indices, limits)
        if not skips and len(longer):
            raise UserError(self._too_long(dataset, longer, limits))
        if skips and split and not len(kept):
            raise UserError(
                "`--max-source-positions`, `--max-target-positions` and `--max-tokens` must "
                f"admit at least one sentence of {self._shown(split)}; all {len(longer)} are "
                f"longer than {limits} tokens"
            )
        return kept

    def _too_long(self, dataset: Any, longer: Any, limits: Any) -> str:
        # (source, target), or one number for a set with several directions
        sizes = [int(size) for size in np.atleast_1d(dataset.size(longer[0]))]
        cuts = len(sizes) == 1 or sizes[1] <= limits[1]
        return (
            "`--max-source-positions` and `--max-target-positions` must be at least the longest "
            f"sentence; they are {limits}, {len(longer)} {'is' if len(longer) == 1 else 'are'} "
            "longer, the first is "
            f"{place_of(dataset, longer[0], self._pair)} with "
            f"{' and '.join(map(str, sizes))} tokens "
            "(`--skip-invalid-size-inputs-valid-test` leaves them out"
            f"{', `--truncate-source` cuts sources' if cuts else ''})"
        )

    @contextmanager
    def batching(self, dataset: Any) -> Iterator[None]:
        """Replace fairseq's error for a sentence longer than a batch by one that names it.

        Raises:
            UserError: a sentence is longer than a batch.
        """
        try:
            yield
        except AssertionError as error:
            limit = re.search(r"max_tokens\D*(\d+)", str(error))
            if limit is None:
                raise
            index, tokens = longest(dataset)
            raise UserError(
                f"`--max-tokens` must be at least the longest sentence; it is {limit[1]}, and "
                f"{place_of(dataset, index, self._pair)} has {tokens} tokens"
            ) from None

    @property
    def _pair(self) -> tuple[str | None, str | None]:
        """The direction of a generation."""
        return self._task.args.source_lang, self._task.args.target_lang

    def _shown(self, split: str) -> str:
        return f"{split} of {'-'.join(map(str, self._pair))}" if all(self._pair) else split
