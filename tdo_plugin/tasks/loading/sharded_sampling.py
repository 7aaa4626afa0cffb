"""Which shard is read when, and how many sentences of each direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from functools import cached_property
from itertools import count
from math import lcm
from pathlib import Path
from typing import Any

from fairseq.data.multilingual.multilingual_data_manager import MultilingualDatasetManager
from fairseq.data.multilingual.sampled_multi_dataset import default_virtual_size_func
from fairseq.utils import split_paths

from tdo_compat.binarised import count_sentences
from tdo_plugin.data.shard_plan import plan_of, wait_for
from tdo_plugin.tasks.loading.passes import Passes
from tdo_plugin.tasks.loading.sampled import are_counts


class ShardedDataManager(MultilingualDatasetManager):
    """fairseq's shards; with keyed draws, their order follows from the number of the epoch.

    Shards of `tdo train --from-text` may still be missing when the training starts.
    """

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

    def get_split_data_param_list(
        self, split: str, epoch: int, shard_epoch: int | None = None
    ) -> list[dict[str, Any]]:
        """As fairseq's; a direction that a shard lacks is read from the first one.

        Of a pair in `tdo train --from-text`, nothing may be left in a shard.
        """
        params: list[dict[str, Any]] = super().get_split_data_param_list(split, epoch, shard_epoch)
        first = split_paths(self.args.data)[0]
        if plan_of(Path(first)) is not None:
            for param in params:
                if param["data_category"] == "main" and self._target_side(param, split) is None:
                    param["data_path"] = first
        return params

    def estimate_global_pass_epoch(self, epoch: int) -> int | None:
        """The number of a virtual epoch's pass, from 1, which determines its shard; or None."""
        if passes := self.passes_over_shards():
            return passes.at(epoch).number + 1
        number: int | None = super().estimate_global_pass_epoch(epoch)
        return number

    def get_train_dataset_sizes(
        self, params: Any, datasets: Any, epoch: int, shard_epoch: int | None = None
    ) -> Any:
        """As fairseq's, which estimates shards that it has not loaded.

        Here they are counted: keyed draws count sentences, `--from-text` lines of the text.
        """
        if self.is_keyed and self._count > 1:
            counts = self.get_split_num_data_shards(self.args.train_subset)
            return [sum(shard[key] for shard in self._shards[: counts[key]]) for key, _ in datasets]
        sizes = super().get_train_dataset_sizes(params, datasets, epoch, shard_epoch)
        if plan := plan_of(Path(split_paths(self.args.data)[0])):
            for place, param in enumerate(params):
                pair = plan.pair_of((param["src"], param["tgt"]))
                if param["data_category"] == "main" and pair:
                    sizes[place] = plan.lines[pair]
        return sizes

    @property
    def is_keyed(self) -> bool:
        return getattr(self.args, "virtual_epoch_draw", "fairseq") == "keyed"

    @property
    def _count(self) -> int:
        """The number of shards after which those of all directions begin again together."""
        return lcm(*self.get_split_num_data_shards(self.args.train_subset).values())

    @cached_property
    def _shards(self) -> list[dict[str, int]]:
        """For each shard, the number of sentences of each direction, by key."""
        split = self.args.train_subset
        return [
            {
                param["key"]: self._sentences(param)
                for param in self.get_split_data_param_list(split, 1, number)
            }
            for number in range(1, self._count + 1)
        ]

    def _sentences(self, param: Mapping[str, Any]) -> int:
        """The number of sentences of a direction in a shard, in all files (`train`, `train1`)."""
        total = 0
        for number in count():
            side = self._target_side(param, f"{param['split']}{number or ''}")
            if side is None:
                break
            total += (1 if number else self.args.upsample_primary) * count_sentences(side)
        if not number:
            raise FileNotFoundError(
                f"{param['data_path']}/{param['split']}.{param['src']}-{param['tgt']}"
            )
        return total

    def _target_side(self, param: Mapping[str, Any], split: str) -> str | None:
        """The path of a direction's target side, without `.idx`; None if its folder has none."""
        folder, target = param["data_path"], param["tgt"]
        languages = param["src"], target
        for pair in (languages, languages[::-1]):
            if self.split_exists(split, *pair, target, folder, self.args.dataset_impl):
                return f"{folder}/{split}.{'-'.join(pair)}.{target}"
        return None

    def passes_over_shards(self) -> Passes | None:
        """The passes of keyed draws over several shards; all have the same sampling ratios.

        None of a single shard, and of other draws.
        """
        if not self.is_keyed or self._count == 1:
            return None
        params = self.get_split_data_param_list(self.args.train_subset, 1, 1)
        sizes = []
        for counts in self._shards:
            ranges = [range(size) for size in counts.values()]
            datasets = list(zip(counts, ranges, strict=True))
            ratios = self.get_sampling_ratios(params, datasets, 1)
            sizes.append(self.virtual_size(ratios, ranges))
        return Passes(sizes, self.args.virtual_epoch_size)

    def virtual_size(self, ratios: Any, datasets: Sequence[Sized]) -> int:
        """The number of sentences of a pass over these data sets."""
        if are_counts(ratios):
            return int(ratios.sum())
        if ratios is None:
            return sum(map(len, datasets))
        size: int | None = self.args.virtual_data_size
        return default_virtual_size_func(datasets, ratios) if size is None else size
