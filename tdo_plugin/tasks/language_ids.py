"""Correct language ids for each sentence of a batch, also of a mixed batch."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from fairseq import utils
from fairseq.data import BaseWrapperDataset
from fairseq.data.multilingual.multilingual_data_manager import MultilingualDatasetManager
from torch import Tensor

from tdo_plugin.tasks.source_length import SourceLengthDataManager

Sample = dict[str, Any]

logger = logging.getLogger(__name__)


class LanguageIdDataset(BaseWrapperDataset):
    """A direction whose sentences carry the ids of their languages.

    fairseq collates a mixed batch with the collater of its first direction, so ids that a
    direction adds in its own collater are lost. Here they are part of each sentence, and are in the
    batch's ``net_input`` as ``src_lang_id`` and ``tgt_lang_id``, (B, 1) as in fairseq.
    """

    def __init__(self, dataset: Any, src_lang_id: int, tgt_lang_id: int) -> None:
        super().__init__(dataset)
        self.src_lang_id = src_lang_id
        self.tgt_lang_id = tgt_lang_id

    def __getitem__(self, index: int) -> Sample:
        languages = {"src_lang_id": self.src_lang_id, "tgt_lang_id": self.tgt_lang_id}
        return {**self.dataset[index], **languages}

    def num_tokens_vec(self, indices: Any) -> Any:
        """The lengths of many sentences, for batching by tokens."""
        return self.dataset.num_tokens_vec(indices)

    def collater(self, samples: list[Sample], **options: Any) -> Sample:
        """A batch; fairseq sorts it by length, so rows are matched to sentences by their ids."""
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
        # if each direction collates its own rows, fairseq merges the target ids only from here
        batch["tgt_lang_id"] = batch["net_input"]["tgt_lang_id"]
        return batch


def _collate_with_ids(
    collate: Callable[..., Sample | None], samples: list[Any], **options: Any
) -> Sample | None:
    batch = collate(samples, **options)
    if batch:
        batch["net_input"]["tgt_lang_id"] = batch.pop("tgt_lang_id")
    return batch


class LanguageIdDataManager(SourceLengthDataManager, MultilingualDatasetManager):
    """fairseq's data loading, with language ids for all directions.

    Trained directions need no validation set.
    """

    def language_id(self, language: str) -> int:
        """The index of a language, from 1, in the order of ``--langs``."""
        index: int = self.lang_dict.index(language)
        return index

    def with_ids(self, dataset: Any, src: str, tgt: str) -> LanguageIdDataset:
        """A direction's data set with the ids of its two languages."""
        return LanguageIdDataset(dataset, self.language_id(src), self.language_id(tgt))

    def batch_with_ids(self, batch: Sample, src: str, tgt: str) -> Sample:
        """A batch of one direction with the ids of its two languages, (B, 1) each."""
        fed = batch["net_input"]
        ids = {"src_lang_id": self.language_id(src), "tgt_lang_id": self.language_id(tgt)}
        shape = (len(fed["src_tokens"]), 1)
        columns = {
            key: torch.full(shape, number, device=fed["src_tokens"].device)
            for key, number in ids.items()
        }
        return {**batch, "net_input": {**fed, **columns}}

    def load_dataset(self, split: str, *args: Any, **kwargs: Any) -> Any:
        """A split of all directions, whose merged batches keep the ids of both sides."""
        dataset = super().load_dataset(split, *args, **kwargs)
        dataset.collater = partial(_collate_with_ids, dataset.collater)
        _, pairs = self.get_data_paths_and_lang_pairs(split)
        if missing := [pair for pair in self.lang_pairs if pair not in pairs["main"]]:
            shown = ", ".join(missing[:8]) + (", ..." if len(missing) > 8 else "")
            logger.info(f"{len(missing)} directions have no {split} set ({shown})")
        return dataset

    def get_data_paths_and_lang_pairs(self, split: str) -> Any:
        """As fairseq's; except in training, only directions that have the split, if any do."""
        paths, pairs = super().get_data_paths_and_lang_pairs(split)
        if split != getattr(self.args, "train_subset", None):
            available = [pair for pair in pairs["main"] if self.stem(split, pair)]
            pairs["main"] = available or pairs["main"]
        return paths, pairs

    def stem(self, split: str, direction: str) -> str | None:
        """`valid.de-fr` or `valid.fr-de`, whichever is in the first data folder, or None."""
        source, target = direction.split("-")
        data = utils.split_paths(self.args.data)[0]
        for pair in ((source, target), (target, source)):
            if self.split_exists(split, *pair, source, data, self.args.dataset_impl):
                return f"{split}.{'-'.join(pair)}"
        return None

    def load_a_dataset(self, *, src: str, tgt: str, **parameters: Any) -> LanguageIdDataset:
        """One direction of a split, with keyword arguments as fairseq passes them."""
        return self.with_ids(super().load_a_dataset(src=src, tgt=tgt, **parameters), src, tgt)
