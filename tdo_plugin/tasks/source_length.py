"""``--truncate-source``: sources cut so that their language tag and their end symbol fit, too."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import torch
from fairseq.data import BaseWrapperDataset
from torch import Tensor

logger = logging.getLogger(__name__)


def cut(tokens: Tensor, most: int) -> Tensor:
    """A source of at most ``most`` tokens, (at most `most`,): its head and its end symbol.

    Args:
        tokens: (S,), the end symbol last.
        most: of all of them, the end symbol included.
    """
    if len(tokens) <= most:
        return tokens
    return torch.cat((tokens[: max(most - 1, 0)], tokens[-1:]))


class CutSources(BaseWrapperDataset):
    """Sources of at most so many tokens each, tag and end symbol included.

    fairseq cuts text before it puts the tag in front, so that a sentence is one token too long for
    the very limit that it was cut for. This cuts what stands there in the end.
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
    """Loading whose sources, with ``--truncate-source``, are no longer than the model takes.

    Attributes:
        model_limit: tokens of a source that the model takes; None until it is known.
    """

    args: Any
    model_limit: int | None = None

    @property
    def source_limit(self) -> int | None:
        """Most tokens of a source with its tag and end symbol; None: sources are not cut."""
        if not getattr(self.args, "truncate_source", False):
            return None
        limit: int = self.args.max_source_positions
        return limit if self.model_limit is None else min(limit, self.model_limit)

    def cut_untagged(self, sources: list[Tensor]) -> list[Tensor]:
        """Sources (S,) that end with their end symbol and have no tag yet, cut where asked for."""
        most = self.source_limit
        if most is None:
            return sources
        tag = self.args.langtoks["main"][0] and not self.args.lang_tok_replacing_bos_eos
        return [cut(tokens, most - bool(tag)) for tokens in sources]

    def load_lang_dataset(self, *args: Any, truncate_source: bool = False, **kwargs: Any) -> Any:
        """As fairseq's, without its cut, which leaves no room for the tag."""
        return super().load_lang_dataset(*args, **kwargs)  # type: ignore[misc]

    def src_dataset_tranform_func(
        self, src_lang: str, tgt_lang: str, dataset: Any, spec: str | None = None
    ) -> Any:
        """As fairseq's, which puts the tag in front; then cut."""
        tagged = super().src_dataset_tranform_func(  # type: ignore[misc]
            src_lang, tgt_lang, dataset, spec
        )
        most = self.source_limit
        if most is None:
            return tagged
        if longer := int((np.asarray(tagged.sizes) > most).sum()):
            logger.info(f"{src_lang}-{tgt_lang}: {longer} sources are cut to {most} tokens")
        return CutSources(tagged, most)
