"""Loads directions without reading whole files."""

from __future__ import annotations

from argparse import Namespace
from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping, Sequence, Sized
from functools import cached_property
from inspect import signature
from math import lcm
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from fairseq.data import Dictionary, indexed_dataset
from fairseq.data.multilingual.multilingual_data_manager import MultilingualDatasetManager
from fairseq.data.multilingual.sampled_multi_dataset import default_virtual_size_func
from fairseq.utils import split_paths

from tdo_compat.binarised import count_sentences
from tdo_plugin.data.shard_plan import plan_of, wait_for
from tdo_plugin.runtime.files import sha256
from tdo_plugin.tasks.loading import keyed, sampled
from tdo_plugin.tasks.loading.lengths import SentencePairs, TaggedSentences
from tdo_plugin.tasks.loading.mapped import MappedSentences
from tdo_plugin.tasks.loading.passes import Passes

# parameters of fairseq's load_langpair_dataset, and those of its parts
_LANGPAIR = signature(MultilingualDatasetManager.load_langpair_dataset)
_SIDES = (
    *("data_path", "split", "src", "src_dict", "tgt", "tgt_dict", "combine", "dataset_impl"),
    *("upsample_primary", "max_source_positions", "prepend_bos", "load_alignments"),
    "truncate_source",
)
_COLLATING = ("left_pad_source", "left_pad_target", "src_lang_id", "tgt_lang_id")


class LeanDataManager(MultilingualDatasetManager):
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

    @classmethod
    def _get_shard_num_dict(cls, split: str, paths: list[str]) -> Mapping[str, int]:
        """As fairseq's; shards of `tdo train --from-text` count before they are made."""
        plan = plan_of(Path(paths[0]))
        if plan is None:
            counts: Mapping[str, int] = super()._get_shard_num_dict(split, paths)
        else:
            counts = super()._get_shard_num_dict(split, paths[:1])
            if split == "train":
                counts = {pair: min(len(paths), plan.shards_of(pair)) for pair in counts}
        return counts

    def get_split_data_path(self, *args: Any) -> str:
        """As fairseq's; waits for a shard that is still being prepared."""
        path: str = super().get_split_data_path(*args)
        wait_for(Path(path))
        return path

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

    def estimate_global_pass_epoch(self, epoch: int) -> int | None:
        """The number of a virtual epoch's pass, from 1, which determines its shard; or None."""
        if self._is_keyed:
            return self._passes_over_shards().at(epoch).number + 1
        number: int | None = super().estimate_global_pass_epoch(epoch)
        return number

    def get_train_dataset_sizes(
        self, params: Any, datasets: Any, epoch: int, shard_epoch: int | None = None
    ) -> Any:
        """As fairseq's, which estimates shards that it has not loaded.

        Here they are counted: keyed draws count sentences, `--from-text` lines of the text.
        """
        if self._is_keyed and len(self._shards) > 1:
            counts = self.get_split_num_data_shards(self.args.train_subset)
            columns = zip(params, zip(*self._shards, strict=True), strict=True)
            return [sum(column[: counts[param["key"]]]) for param, column in columns]
        sizes = super().get_train_dataset_sizes(params, datasets, epoch, shard_epoch)
        if plan := plan_of(Path(split_paths(self.args.data)[0])):
            for place, param in enumerate(params):
                pair = plan.pair_of((param["src"], param["tgt"]))
                if param["data_category"] == "main" and pair:
                    sizes[place] = plan.lines[pair]
        return sizes

    @property
    def _is_keyed(self) -> bool:
        return getattr(self.args, "virtual_epoch_draw", "fairseq") == "keyed"

    @cached_property
    def _shards(self) -> list[list[int]]:
        """For each shard, the number of sentences of each direction."""
        split = self.args.train_subset
        return [
            [self._sentences(param) for param in self.get_split_data_param_list(split, 1, number)]
            for number in range(1, lcm(*self.get_split_num_data_shards(split).values()) + 1)
        ]

    def _sentences(self, param: Mapping[str, Any]) -> int:
        """The number of sentences of a direction in a shard."""
        split, folder, languages = param["split"], param["data_path"], (param["src"], param["tgt"])
        for pair in (languages, languages[::-1]):
            if self.split_exists(split, *pair, param["tgt"], folder, self.args.dataset_impl):
                return count_sentences(f"{folder}/{split}.{'-'.join(pair)}.{param['tgt']}")
        raise FileNotFoundError(f"{folder}/{split}.{'-'.join(languages)}")

    def _passes_over_shards(self) -> Passes:
        """The passes over all shards; all have the same sampling ratios."""
        params = self.get_split_data_param_list(self.args.train_subset, 1, 1)
        sizes = []
        for counts in self._shards:
            ranges = [range(count) for count in counts]
            datasets = [(param["key"], rows) for param, rows in zip(params, ranges, strict=True)]
            ratios = self.get_sampling_ratios(params, datasets, 1)
            sizes.append(self._virtual_size(ratios, ranges))
        return Passes(sizes, self.args.virtual_epoch_size)

    def _virtual_size(self, ratios: Any, datasets: Sequence[Sized]) -> int:
        """The number of sentences of a pass over these data sets."""
        if sampled.are_counts(ratios):
            return int(ratios.sum())
        if ratios is None:
            return sum(map(len, datasets))
        size: int | None = self.args.virtual_data_size
        return default_virtual_size_func(datasets, ratios) if size is None else size

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
            "virtual_size": self._virtual_size(ratios, [dataset for _, dataset in datasets]),
            "shared_collater": self._shared_collater(),
        }
        if args.virtual_epoch_size is None:
            return sampled.SampledMultiDataset(OrderedDict(datasets), **options)
        options |= {"shard_epoch": shard_epoch, "virtual_epoch_size": args.virtual_epoch_size}
        if not self._is_keyed:
            return sampled.SampledMultiEpochDataset(OrderedDict(datasets), **options)
        passes = self._passes_over_shards()
        return keyed.SampledMultiEpochDataset(OrderedDict(datasets), passes=passes, **options)
