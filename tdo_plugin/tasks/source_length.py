"""``--truncate-source``: cuts sources such that language tag and end symbol still fit."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import torch
from fairseq.data import BaseWrapperDataset
from torch import Tensor

logger = logging.getLogger(__name__)


def cut(tokens: Tensor, most: int) -> Tensor:
    """A source cut to at most ``most`` tokens: its head and its end symbol.

    Args:
        tokens: (S,), the end symbol last.
        most: maximum number of tokens, including the end symbol.
    """
    if len(tokens) <= most:
        return tokens
    return torch.cat((tokens[: max(most - 1, 0)], tokens[-1:]))


class CutSources(BaseWrapperDataset):
    """Sources cut to a maximum length, including tag and end symbol.

    fairseq cuts text before it adds the tag, so that a cut sentence is one token longer than the
    limit. Here the tagged source is cut.
    """

    def __init__(self, dataset: Any, most: int) -> None:
        super().__init__(dataset)
        self.most = most

    def __getitem__(self, index: int) -> Tensor:
        return cut(self.dataset[index], self.most)

    @property
    def sizes(self) -> Any:
        return np.minimum(self.dataset.sizes, self.most)


class SourceLengthDataManager:
    """Data loading that with ``--truncate-source`` cuts sources to the model's maximum length.

    Attributes:
        model_limit: maximum number of source tokens of the model; None until it is known.
    """

    args: Any
    model_limit: int | None = None

    @property
    def source_limit(self) -> int | None:
        """Maximum number of source tokens, with tag and end symbol; None: sources are not cut."""
        if not getattr(self.args, "truncate_source", False):
            return None
        limit: int = self.args.max_source_positions
        return limit if self.model_limit is None else min(limit, self.model_limit)

    def cut_untagged(self, sources: list[Tensor]) -> list[Tensor]:
        """Sources (S,) with end symbol and without tag, cut if --truncate-source is on."""
        most = self.source_limit
        if most is None:
            return sources
        tag = self.args.langtoks["main"][0] and not self.args.lang_tok_replacing_bos_eos
        return [cut(tokens, most - bool(tag)) for tokens in sources]

    def load_lang_dataset(self, *args: Any, truncate_source: bool = False, **kwargs: Any) -> Any:
        """As fairseq's, without its cut, which leaves no space for the tag."""
        return super().load_lang_dataset(*args, **kwargs)  # type: ignore[misc]

    def src_dataset_tranform_func(
        self, src_lang: str, tgt_lang: str, dataset: Any, spec: str | None = None
    ) -> Any:
        """As fairseq's, which adds the tag; then cut."""
        tagged = super().src_dataset_tranform_func(  # type: ignore[misc]
            src_lang, tgt_lang, dataset, spec
        )
        most = self.source_limit
        if most is None:
            return tagged
        if longer := int((np.asarray(tagged.sizes) > most).sum()):
            logger.info(f"{src_lang}-{tgt_lang}: {longer} sources are cut to {most} tokens")
        return CutSources(tagged, most)
