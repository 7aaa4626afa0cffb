"""True language ids for each sentence of a batch, also of a mixed one."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from fairseq.data import BaseWrapperDataset
from fairseq.data.multilingual.multilingual_data_manager import MultilingualDatasetManager
from torch import Tensor

Sample = dict[str, Any]


class LanguageIdDataset(BaseWrapperDataset):
    """One direction, each sentence of which carries the ids of its languages.

    fairseq collates a mixed batch with the collater of its first direction, so a language that a
    direction keeps to itself is lost there. Here the ids travel with the sentence, into the
    batch's ``net_input`` as ``src_lang_id`` and ``tgt_lang_id``, (B, 1) as fairseq shapes them.
    """

    def __init__(self, dataset: Any, src_lang_id: int, tgt_lang_id: int) -> None:
        super().__init__(dataset)
        self.src_lang_id = src_lang_id
        self.tgt_lang_id = tgt_lang_id

    def __getitem__(self, index: int) -> Sample:
        languages = {"src_lang_id": self.src_lang_id, "tgt_lang_id": self.tgt_lang_id}
        return {**self.dataset[index], **languages}

    def num_tokens_vec(self, indices: Any) -> Any:
        """Lengths of many sentences at once, for batching by tokens."""
        return self.dataset.num_tokens_vec(indices)

    def collater(self, samples: list[Sample], **options: Any) -> Sample:
        """A batch; fairseq sorts it by length, so each row's origin is traced through its id."""
        traced = [{**sample, "id": origin} for origin, sample in enumerate(samples)]
        batch: Sample = self.dataset.collater(traced, **options)
        if not batch:
            return batch
        origins = batch["id"]

        def column(key: str) -> Tensor:
            return torch.tensor([sample[key] for sample in samples]).index_select(0, origins)

        batch["id"] = column("id")
        for key in ("src_lang_id", "tgt_lang_id"):
            batch["net_input"][key] = column(key)[:, None]
        # where each direction collates its own rows, fairseq merges the target's ids only from here
        batch["tgt_lang_id"] = batch["net_input"]["tgt_lang_id"]
        return batch


def _collate_with_ids(
    collate: Callable[..., Sample | None], samples: list[Any], **options: Any
) -> Sample | None:
    batch = collate(samples, **options)
    if batch:
        batch["net_input"]["tgt_lang_id"] = batch.pop("tgt_lang_id")
    return batch


class LanguageIdDataManager(MultilingualDatasetManager):
    """fairseq's loading of directions, every one of them with its language ids."""

    def language_id(self, language: str) -> int:
        """Index of a language, from 1, in the order of ``--langs``."""
        index: int = self.lang_dict.index(language)
        return index

    def with_ids(self, dataset: Any, src: str, tgt: str) -> LanguageIdDataset:
        """A direction with the ids of its two languages."""
        return LanguageIdDataset(dataset, self.language_id(src), self.language_id(tgt))

    def load_dataset(self, *args: Any, **kwargs: Any) -> Any:
        """A split of all directions, whose batches keep the ids of both sides when merged."""
        dataset = super().load_dataset(*args, **kwargs)
        dataset.collater = partial(_collate_with_ids, dataset.collater)
        return dataset

    def load_a_dataset(self, *, src: str, tgt: str, **parameters: Any) -> LanguageIdDataset:
        """One direction of one split, by keyword as fairseq calls it."""
        return self.with_ids(super().load_a_dataset(src=src, tgt=tgt, **parameters), src, tgt)
