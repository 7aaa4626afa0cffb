"""Loads directions without reading whole files."""

from __future__ import annotations

from argparse import Namespace
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from inspect import signature
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from fairseq.data import Dictionary, indexed_dataset
from fairseq.data.multilingual.multilingual_data_manager import MultilingualDatasetManager

from tdo_plugin.runtime.files import sha256
from tdo_plugin.tasks.loading import keyed, sampled
from tdo_plugin.tasks.loading.lengths import SentencePairs, TaggedSentences
from tdo_plugin.tasks.loading.mapped import MappedSentences
from tdo_plugin.tasks.loading.sharded_sampling import ShardedDataManager

# parameters of fairseq's load_langpair_dataset, and those of its parts
_LANGPAIR = signature(MultilingualDatasetManager.load_langpair_dataset)
_SIDES = (
    *("data_path", "split", "src", "src_dict", "tgt", "tgt_dict", "combine", "dataset_impl"),
    *("upsample_primary", "max_source_positions", "prepend_bos", "load_alignments"),
    "truncate_source",
)
_COLLATING = ("left_pad_source", "left_pad_target", "src_lang_id", "tgt_lang_id")


class LeanDataManager(ShardedDataManager):
    """fairseq's batches, from files that are opened once and memory-mapped."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # both directions of a pair share one object while either holds it
        self._opened: MutableMapping[str, MappedSentences] = WeakValueDictionary()

    @classmethod
    def load_all_dictionaries(
        cls, args: Namespace, languages: list[str], load: Callable[[str], Dictionary], *more: Any
    ) -> Any:
        """As fairseq's; languages with equal dictionary files share one object."""
        loaded: dict[str, Dictionary] = {}

        def load_once(path: str) -> Dictionary:
            content = sha256(Path(path))
            if content not in loaded:
                loaded[content] = load(path)
            return loaded[content]

        return super().load_all_dictionaries(args, languages, load_once, *more)

    def load_data(self, path: str, dictionary: Dictionary, kind: str | None) -> Any:
        """One side of a pair; `kind` as in ``--dataset-impl``, None: detected from the files."""
        path = indexed_dataset.get_indexed_dataset_to_local(path)
        if (kind or indexed_dataset.infer_dataset_impl(path)) != "mmap":
            return super().load_data(path, dictionary, kind)
        sentences = self._opened.get(path)
        if sentences is None:
            sentences = self._opened[path] = MappedSentences(path, dictionary)
        return sentences

    def src_dataset_tranform_func(
        self, src_lang: str, tgt_lang: str, dataset: Any, spec: str | None = None
    ) -> Any:
        """As fairseq's, which adds the tag, without a copy of all lengths."""
        if spec is None or self.args.lang_tok_replacing_bos_eos:
            return dataset
        return TaggedSentences(dataset, self.get_encoder_langtok(src_lang, tgt_lang, spec))

    def tgt_dataset_tranform_func(
        self, source_lang: str, target_lang: str, dataset: Any, spec: str | None = None
    ) -> Any:
        """As fairseq's, which adds the tag, without a copy of all lengths."""
        if dataset is None or not spec or self.args.lang_tok_replacing_bos_eos:
            return dataset
        return TaggedSentences(dataset, self.get_decoder_langtok(target_lang, spec))

    def load_langpair_dataset(self, *args: Any, **options: Any) -> Any:
        """As fairseq's; a direction of the training set without copies of all lengths."""
        values = _LANGPAIR.bind(self, *args, **options).arguments
        if values["split"] != getattr(self.args, "train_subset", None):
            return super().load_langpair_dataset(*args, **options)
        source, target, alignments = self.load_lang_dataset(**{key: values[key] for key in _SIDES})
        return SentencePairs(
            values["src_dataset_transform_func"](source),
            values["src_dict"],
            values["tgt_dataset_transform_func"](target),
            values["tgt_dict"],
            align_dataset=alignments,
            **{key: values[key] for key in _COLLATING},
        )

    def load_dataset(
        self,
        split: str,
        training: bool,
        epoch: int = 0,
        combine: bool = False,
        shard_epoch: int | None = None,
        **more: Any,
    ) -> Any:
        """As fairseq's, with faster sorting and sampling of the training set."""
        args = self.args
        if not training or split != getattr(args, "train_subset", None):
            return super().load_dataset(split, training, epoch, combine, shard_epoch, **more)
        datasets, parameters = self.load_split_datasets(
            split, training, epoch, combine, shard_epoch=shard_epoch, **more
        )
        ratios = self.get_sampling_ratios(parameters, datasets, epoch)
        options = {
            "sampling_ratios": ratios,
            "epoch": epoch,
            "split": split,
            "virtual_size": self.virtual_size(ratios, [dataset for _, dataset in datasets]),
            "shared_collater": self._shared_collater(),
        }
        if args.virtual_epoch_size is None:
            return sampled.SampledMultiDataset(OrderedDict(datasets), **options)
        options |= {"shard_epoch": shard_epoch, "virtual_epoch_size": args.virtual_epoch_size}
        if not self.is_keyed:
            return sampled.SampledMultiEpochDataset(OrderedDict(datasets), **options)
        passes = self.passes_over_shards()
        return keyed.SampledMultiEpochDataset(OrderedDict(datasets), passes=passes, **options)
