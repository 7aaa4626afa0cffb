"""Loads auxiliary data sets of a training in addition to fairseq's directions."""

from __future__ import annotations

import logging
from argparse import Namespace
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from fairseq import utils
from fairseq.data import Dictionary
from fairseq.data.multilingual.multilingual_data_manager import MultilingualDatasetManager

from tdo_plugin.data.auxiliary_folder import BACK_TRANSLATED, MONOLINGUAL, Kind, read_further
from tdo_plugin.errors import UserError
from tdo_plugin.models.languages import tag_sides
from tdo_plugin.tasks.auxiliary_data.auxiliary_options import SHARE
from tdo_plugin.tasks.auxiliary_data.mixture import Mixture
from tdo_plugin.tasks.auxiliary_data.sources import NoSource
from tdo_plugin.tasks.loading.lengths import TaggedSentences

logger = logging.getLogger(__name__)


class AuxiliaryDataManager(MultilingualDatasetManager):
    """Monolingual text and synthetic pairs as further data categories of fairseq.

    In fairseq each category of data has a folder and directions of its own, and keys such as
    ``main:en-de``. The categories here are ``monolingual:de-de``, text of one language, and
    ``back-translated:en-de``, pairs with synthetic sources. They are part of the training set only.
    Their folders are read when that set is loaded, since the task of a checkpoint is also set up
    on machines without them.
    """

    @classmethod
    def load_all_dictionaries(
        cls, args: Namespace, languages: list[str], load: Callable[[str], Dictionary], *more: Any
    ) -> Any:
        """As fairseq's, and adds the tag of synthetic sources after the language tags.

        Raises:
            UserError: the tag is already in the dictionary, or is not a single symbol.
        """
        tag: str | None = getattr(args, "back_translated_tag", None)

        def load_with_tag(path: str) -> Dictionary:
            dictionary = load(path)
            assert tag is not None
            if tag in dictionary or tag.split() != [tag]:
                raise UserError(
                    "`--back-translated-tag` must be a symbol without spaces that is not in the "
                    f"dictionary; it is {tag}"
                )
            dictionary.add_symbol(tag)
            return dictionary

        chosen = load if tag is None else load_with_tag
        return super().load_all_dictionaries(args, languages, chosen, *more)

    @cached_property
    def _further(self) -> dict[str, tuple[str, list[str]]]:
        """Folder and directions by category.

        Raises:
            UserError: a folder does not fit the training.
        """
        directions_by_kind = {MONOLINGUAL: self._targets, BACK_TRANSLATED: self._pairs}
        categories = {}
        for kind, directions in directions_by_kind.items():
            if (folder := _folder(self.args, kind)) is not None:
                categories[kind.name] = folder, self._directions(kind, folder, directions())
        return categories

    def _targets(self) -> list[str]:
        """`de-de` and so on, for each trained target language."""
        targets = list(dict.fromkeys(pair.split("-")[1] for pair in self.lang_pairs))
        on_source, on_target = tag_sides(self.args)
        if on_source != "tgt" and not on_target and len(targets) > 1:
            raise UserError(
                "`--decoder-langtok` must be on, or `--encoder-langtok` tgt, with --monolingual: "
                f"otherwise no tag gives the language ({', '.join(targets)}); it is {on_source}"
            )
        return [f"{language}-{language}" for language in targets]

    def _pairs(self) -> list[str]:
        if (shards := len(utils.split_paths(self.args.data))) > 1:
            raise UserError(
                "`--back-translated` must be used with a single `data` folder, whose pairs are all "
                f"in every epoch; it has {shards}"
            )
        return self.lang_pairs

    def _directions(self, kind: Kind, folder: str, directions: Sequence[str]) -> list[str]:
        """The directions that a folder has; its dictionary must be the training's."""
        stored = read_further(Path(folder), kind)
        present = [direction for direction in directions if direction in stored]
        if not present:
            raise UserError(
                f"`{kind.option}` must have one of {', '.join(directions)}; {folder} has "
                f"{', '.join(stored)}"
            )
        if left := [direction for direction in stored if direction not in present]:
            logger.info(f"{kind.option}: not used in this training: {', '.join(left)}")
        symbols = Dictionary.load(str(Path(folder, "dict.txt"))).symbols
        for dictionary in {id(loaded): loaded for loaded in self.dicts.values()}.values():
            if dictionary.symbols[: len(symbols)] != symbols:
                raise UserError(
                    f"`{kind.option}` must be made with the dictionary of `data`; {folder} was "
                    "made with another"
                )
        return present

    def get_data_paths_and_lang_pairs(self, split: str) -> Any:
        """As fairseq's, with the auxiliary sets added to the training set."""
        paths, pairs = super().get_data_paths_and_lang_pairs(split)
        if split == getattr(self.args, "train_subset", None):
            paths |= {category: folder for category, (folder, _) in self._further.items()}
            pairs |= {category: names for category, (_, names) in self._further.items()}
        return paths, pairs

    def load_a_dataset(self, *, data_category: str, langtok_spec: Any, **parameters: Any) -> Any:
        """As fairseq's; auxiliary data use the language tags of the main data.

        A sentence without source has its tag on the source only if targets have none.
        """
        if data_category in (MONOLINGUAL.name, BACK_TRANSLATED.name):
            source, target = self.args.langtoks["main"]
            if data_category == MONOLINGUAL.name and tag_sides(self.args) != ("tgt", False):
                source = None
            langtok_spec = source, target
        return super().load_a_dataset(
            data_category=data_category, langtok_spec=langtok_spec, **parameters
        )

    def load_lang_dataset(
        self, data_path: str, split: str, src: str, src_dict: Dictionary, *args: Any, **options: Any
    ) -> Any:
        """As fairseq's; monolingual text is a target without a source."""
        source, target, alignments = super().load_lang_dataset(
            data_path, split, src, src_dict, *args, **options
        )
        tag = getattr(self.args, "back_translated_tag", None)
        if data_path == _folder(self.args, MONOLINGUAL):
            source = NoSource(len(target))
        elif data_path == _folder(self.args, BACK_TRANSLATED) and tag is not None:
            source = TaggedSentences(source, src_dict.index(tag))
        return source, target, alignments

    def get_sampling_ratios(
        self, params: Any, datasets: Any, epoch: int, shard_epoch: int | None = None
    ) -> Any:
        """As fairseq's; with auxiliary data, the number of sentences from each data set."""
        if not self._further:
            return super().get_sampling_ratios(params, datasets, epoch, shard_epoch)

        def ratios(unions: dict[int, int]) -> Any:
            """fairseq's sampling ratios of directions, given their sizes by number."""
            chosen = [params[number] for number in unions]
            sized = [(datasets[number][0], range(size)) for number, size in unions.items()]
            return super_ratios(chosen, sized, epoch, shard_epoch)

        super_ratios = super().get_sampling_ratios
        share, rate = (
            getattr(self.args, name, None)
            for name in ("monolingual_share", "back_translated_upsampling")
        )
        mixture = Mixture(
            sizes=[len(dataset) for _, dataset in datasets],
            categories=[param["data_category"] for param in params],
            directions=[f"{param['src']}-{param['tgt']}" for param in params],
            upsampling=1 if rate is None else rate,
            share=SHARE if share is None else share,
        )
        counts = mixture.counts(
            ratios, self.sampling_method.sampling_method_selector(), self.args.virtual_data_size
        )
        counted = zip(datasets, counts, strict=True)
        named = [f"{count} of {len(dataset)} {key}" for (key, dataset), count in counted]
        logger.info(f"sentences per epoch: {', '.join(named)}")
        return counts


def _folder(args: Namespace, kind: Kind) -> str | None:
    folder: str | None = getattr(args, kind.name.replace("-", "_"), None)
    return folder
