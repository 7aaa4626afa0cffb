"""Multilingual translation with true language ids, everywhere."""

import hashlib
import inspect
import logging
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.tasks import register_task
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask
from torch import Tensor

from tdo_plugin.data.databin import MARK
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.textform import form_shown, read_text_form
from tdo_plugin.models.forced_tag import check_free_tag, free_tag
from tdo_plugin.models.mask_files import check_begun
from tdo_plugin.models.topk_beam_search import narrow
from tdo_plugin.tasks import fairseq_options
from tdo_plugin.tasks.language_ids import LanguageIdDataManager
from tdo_plugin.tasks.language_options import check_language_options
from tdo_plugin.tasks.loading import (
    LeanDataManager,
    add_loading_options,
    check_loading_options,
)
from tdo_plugin.tasks.more_data import (
    MoreDataManager,
    add_more_data_options,
    check_mark,
    check_more_data_options,
    check_terms,
    check_topology,
)
from tdo_plugin.tasks.sentence_places import longest, place_of
from tdo_plugin.tasks.source_length import cut
from tdo_plugin.tasks.source_noise import (
    MASK,
    SourceNoise,
    add_mask_symbol,
    add_noise_options,
    check_noise_options,
    no_noise,
)
from tdo_plugin.tasks.step_hooks import (
    Sample,
    StepHook,
    batches_of,
    in_update,
    summed,
    unsynchronized,
    unwrapped,
)
from tdo_plugin.tasks.validation import Validation, add_validation_options, validation_of
from tdo_plugin.text_settings import check_settings, settings_of

logger = logging.getLogger(__name__)


class _LeanLanguageIdDataManager(MoreDataManager, LanguageIdDataManager, LeanDataManager):
    """Further data, language ids and lean loading, which know nothing of each other."""


def _manager(args: Namespace) -> type[LanguageIdDataManager]:
    """What loads the data; the arguments of an older checkpoint do not say it."""
    lean = getattr(args, "data_loading", "lean") == "lean"
    return _LeanLanguageIdDataManager if lean else LanguageIdDataManager


@register_task("tdo_translation")
class TdoTranslationTask(TranslationMultiSimpleEpochTask):
    """fairseq's ``translation_multi_simple_epoch`` with its options, and eight things more.

    Every batch, in training, validation, generation and interactive use, tells the source and
    target language of each sentence. Checkpoints remember their dictionary, their languages and all
    that text passes through on its way in, and do not load beside others. Trained directions need
    no validation set. With ``--eval-translation`` a validation translates, too. Data are loaded
    without reading them (``--data-loading``). What a batch becomes before it is trained on is a
    list, ``step_hooks``; ``--source-noise`` is one of them. Criterions are told of each update, and
    what they train beside the model is in the checkpoint (``remember``).
    """

    provides_lang_ids = True  # in every batch, which models with parts for each language ask
    provides_update_info = True  # to a criterion, some of whose terms train what is not the model's
    resets_optimizer = False  # whether a checkpoint is gone on with without its optimizer's state

    @property
    def trains_unlisted_pairs(self) -> bool:
        """Whether sentences of other pairs than those of ``--lang-pairs`` are trained on."""
        return getattr(self.args, "monolingual", None) is not None  # from no language

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        """fairseq's options, and those of loading and of scores during training."""
        TranslationMultiSimpleEpochTask.add_args(parser)
        add_loading_options(parser)
        add_more_data_options(parser)
        add_validation_options(parser)
        add_noise_options(parser)
        parser.add_argument(
            "--whole-search",
            action="store_true",
            help="search as fairseq does, among the scores of the whole vocabulary, also for "
            "--task tdo_robt: slower, the same hypotheses",
        )
        parser.add_argument(
            "--free-tag",
            action="store_true",
            help="in generation, a target tag that is forced has log-probability 0, as in Hugging "
            "Face's generate, instead of the model's",
        )

    def __init__(
        self, args: Namespace, langs: list[str], dicts: dict[str, Dictionary], training: bool
    ) -> None:
        if args.enable_reservsed_directions_shared_datasets:
            raise UserError(
                "`--enable-reservsed-directions-shared-datasets` must be off: fairseq would reuse "
                "a source with its language tag as the target of the reversed direction; it is on"
            )
        super().__init__(args, langs, dicts, training)
        self.data_manager = _manager(args)(
            args, self.lang_pairs, langs, dicts, self.sampling_method
        )
        self.validation: Validation | None = None
        self._remembered: dict[str, Any] = {}  # by name in a checkpoint
        self._stored: dict[str, Any] | None = None  # likewise, of the checkpoint that was loaded
        self.step_hooks = self.make_step_hooks() if training else []

    def make_step_hooks(self) -> list[StepHook]:
        """What makes of a batch those that are trained on, in order."""
        return [] if no_noise(self.args) else [SourceNoise(self)]

    @staticmethod
    def check_command_line(parser: ArgumentParser, args: Namespace, words: Sequence[str]) -> None:
        """Called with all command lines of fairseq's commands.

        Raises:
            UserError: an option that would be ignored, or that makes no sense.
        """
        fairseq_options.check_command_line(parser, args, words)

    @classmethod
    def setup_task(cls, args: Namespace, **kwargs: Any) -> "TdoTranslationTask":
        """As fairseq's.

        Raises:
            UserError: on languages that are not among ``--langs``, missing dictionaries, or
                options of loading that contradict each other.
        """
        check_language_options(args)
        check_loading_options(args)
        check_noise_options(args)
        check_mark(args)
        settings = settings_of(args)
        for side in ("left_pad_source", "left_pad_target"):
            # of a checkpoint it is True, which fairseq, that takes these as text, reads as False
            setattr(args, side, str(settings[side]))
        try:
            langs, dicts, training = _manager(args).prepare(cls.load_dictionary, args, **kwargs)
            if not no_noise(args):
                add_mask_symbol(list(dicts.values()))
            if training:
                check_more_data_options(args)
            # so that a checkpoint has them, and the file may go
            args.langs, args.lang_dict = list(langs), None
            return cls(args, langs, dicts, training)
        except UserError:
            raise
        except FileNotFoundError as error:
            raise UserError(
                "`data` must be a folder of fairseq-preprocess; "
                f"{error.filename or error} is missing"
            ) from None
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from None

    def check_dicts(
        self, dicts: dict[str, Dictionary], source_langs: list[str], target_langs: list[str]
    ) -> None:
        """As fairseq's, which compares symbol by symbol; here each object is compared once.

        Raises:
            UserError: where languages of one side have different dictionaries.
        """
        sides = [
            list({id(dicts.get(language)): language for language in side}.values())
            for side in (source_langs, target_langs)
        ]
        try:
            super().check_dicts(dicts, *sides)
        except AssertionError:
            raise UserError(
                "`data` must hold one dictionary for all source languages and one for all target "
                "languages; it holds several"
            ) from None

    def build_model(self, args: Namespace, from_checkpoint: bool = False) -> Any:
        """As fairseq's.

        Raises:
            UserError: on a model that takes no language ids.
        """
        model = super().build_model(args, from_checkpoint)
        if "tgt_lang_id" not in inspect.signature(model.forward).parameters:
            raise UserError(
                "`--arch` must take language ids with `--task tdo_translation`; "
                f"{getattr(args, 'arch', 'this one')} does not, "
                "`--task translation_multi_simple_epoch` trains it"
            )
        check_topology(model, args)
        self.data_manager.model_limit = model.max_positions()[0]  # for --truncate-source
        return model

    def build_criterion(self, cfg: Any, *more: Any) -> Any:
        """As fairseq's; a part of the model that only a loss term trains must have it.

        Raises:
            UserError: it has not, and several workers would wait for its gradient.
        """
        criterion = super().build_criterion(cfg, *more)
        check_terms(getattr(criterion, "terms", {}), self.args)
        untrained = getattr(self.args, "tdo_tpdm_layer", 0) and "tpdm" not in getattr(
            criterion, "terms", {}
        )
        if untrained and self.training:
            message = (
                "`--criterion` must have the term tpdm to train the positional head that "
                "`--tdo-tpdm-layer` asks for; it has not"
            )
            if getattr(self.args, "distributed_world_size", 1) > 1:
                raise UserError(message)
            logger.warning("%s, so the head stays as it is", message)
        return criterion

    def build_generator(self, models: Any, args: Any, *more: Any, **options: Any) -> Any:
        """As fairseq's, with a search of its own that gives the same hypotheses.

        Raises:
            UserError: where alignments are asked for: with one softmax over source and target no
                attention over the source stands alone; ``--free-tag`` where no tag is forced.
        """
        for option in ("print_alignment", "replace_unk"):  # for whoever calls it without a parser
            if getattr(args, option, None):
                raise UserError(
                    f"`--{option.replace('_', '-')}` must be left out: these models keep no "
                    f"attention weights; it is {getattr(args, option)}"
                )
        generator = super().build_generator(models, args, *more, **options)
        if getattr(self.args, "free_tag", False):
            check_free_tag(self)
            return free_tag(generator)
        return generator if getattr(self.args, "whole_search", False) else narrow(generator)

    def load_dataset(self, split: str, *args: Any, **kwargs: Any) -> None:
        """As fairseq's; validation sets may be missing where they are not used.

        Raises:
            UserError: on a training set that is not there for one of the directions, or another
                one that is there for none.
        """
        trained = split == getattr(self.args, "train_subset", None)
        try:
            super().load_dataset(split, *args, **kwargs)
        except (FileNotFoundError, KeyError) as error:
            if isinstance(error, KeyError) and not str(error.args[0]).startswith("main:"):
                raise
            if self.training and not trained and getattr(self.args, "disable_validation", False):
                return  # fairseq loads them all the same
            raise UserError(
                f"`data` must hold split {split} for {'each' if trained else 'one'} of "
                f"{', '.join(self.lang_pairs)}; {self.args.data} does not"
                + (" (--disable-validation does without)" if self.training and not trained else "")
            ) from None

    def inference_step(
        self, generator: Any, models: Any, sample: Sample, *more: Any, **options: Any
    ) -> Any:
        """As fairseq's; fairseq-interactive copies of a batch what does not tell its languages."""
        fed = sample["net_input"]
        if "tgt_lang_id" not in fed and getattr(self.args, "target_lang", None):
            pair = self.args.source_lang, self.args.target_lang
            ids = torch.tensor([[self.data_manager.language_id(one) for one in pair]])
            columns = ids.to(fed["src_tokens"].device).expand(len(fed["src_tokens"]), 2).split(1, 1)
            languages = dict(zip(("src_lang_id", "tgt_lang_id"), columns, strict=True))
            sample = {**sample, "net_input": {**fed, **languages}}
        return super().inference_step(generator, models, sample, *more, **options)

    def build_dataset_for_inference(
        self, src_tokens: list[Tensor], src_lengths: list[int], constraints: Any = None
    ) -> Any:
        if (most := self.data_manager.source_limit) is not None:
            tag = self.args.langtoks["main"][0] and not self.args.lang_tok_replacing_bos_eos
            src_tokens = [cut(tokens, most - bool(tag)) for tokens in src_tokens]
            src_lengths = [len(tokens) for tokens in src_tokens]
        dataset = super().build_dataset_for_inference(src_tokens, src_lengths, constraints)
        return self.data_manager.with_ids(dataset, self.args.source_lang, self.args.target_lang)

    def filter_indices_by_size(
        self,
        indices: Any,
        dataset: Any,
        max_positions: Any = None,
        ignore_invalid_inputs: bool = False,
    ) -> Any:
        """As fairseq's.

        Raises:
            UserError: on sentences that are too long, unless they are to be left out.
        """
        sets = [name for name, one in self.datasets.items() if one is dataset]
        if not len(indices) and sets:
            raise UserError(f"`data` must hold sentences; {self._set_shown(*sets)} has none")
        kept, ignored = dataset.filter_indices_by_size(indices, max_positions)
        if ignore_invalid_inputs:
            if not len(kept) and sets:
                raise UserError(
                    "`--max-source-positions`, `--max-target-positions` and `--max-tokens` must "
                    f"leave a sentence of {self._set_shown(*sets)}; all {len(ignored)} are longer "
                    f"than {max_positions} tokens"
                )
            return super().filter_indices_by_size(indices, dataset, max_positions, True)
        if len(ignored):
            # (source, target), but one number of a set that has several directions
            sizes = [int(size) for size in np.atleast_1d(dataset.size(ignored[0]))]
            cuts = len(sizes) == 1 or sizes[1] <= max_positions[1]
            raise UserError(
                "`--max-source-positions` and `--max-target-positions` must hold every sentence; "
                f"they are {max_positions}, {len(ignored)} sentences are longer, the first is "
                f"{place_of(dataset, ignored[0], self._pair)} with "
                f"{' and '.join(map(str, sizes))} tokens "
                "(`--skip-invalid-size-inputs-valid-test` leaves them out"
                f"{', `--truncate-source` cuts sources' if cuts else ''})"
            )
        return kept

    @property
    def _pair(self) -> tuple[str | None, str | None]:
        """The one direction of a generation."""
        return self.args.source_lang, self.args.target_lang

    def _set_shown(self, name: str) -> str:
        return f"{name} of {'-'.join(map(str, self._pair))}" if all(self._pair) else name

    def create_batch_sampler_func(self, *limits: Any, **options: Any) -> Any:
        """As fairseq's.

        Raises:
            UserError: by what it returns, where a sentence does not fit into a batch.
        """
        make = super().create_batch_sampler_func(*limits, **options)

        def construct_batch_sampler(dataset: Any, epoch: int) -> Any:
            with self._fitting(dataset):
                return make(dataset, epoch)

        return construct_batch_sampler

    def get_batch_iterator(self, dataset: Any, **options: Any) -> Any:
        """As fairseq's; fairseq-generate may ask for one of ``--num-shards`` parts of a set."""
        shards = getattr(self.args, "num_shards", 1)
        if not self.training and shards > 1 and options.get("num_shards", 1) == 1:
            options |= {"num_shards": shards, "shard_id": self.args.shard_id}
        with self._fitting(dataset):  # fairseq batches at once with `--sampling-method RoundRobin`
            return super().get_batch_iterator(dataset=dataset, **options)

    @contextmanager
    def _fitting(self, dataset: Any) -> Iterator[None]:
        """Say which sentence a batch cannot hold."""
        try:
            yield
        except AssertionError as error:
            limit = re.search(r"max_tokens\D*(\d+)", str(error))
            if limit is None:
                raise
            index, tokens = longest(dataset)
            raise UserError(
                f"`--max-tokens` must hold the longest sentence; it is {limit[1]}, and "
                f"{place_of(dataset, index, self._pair)} has {tokens} tokens"
            ) from None

    def train_step(
        self,
        sample: Sample,
        model: Any,
        criterion: Any,
        optimizer: Any,
        update_num: int,
        ignore_grad: bool = False,
    ) -> tuple[Any, Any, dict[str, Any]]:
        """As fairseq's, of all that the step hooks make of a batch: the sums of what each gives."""
        batches, logs = batches_of(self.step_hooks, sample, model, update_num)
        steps = []
        for place, batch in enumerate(batches):
            last = place == len(batches) - 1
            known = {"lr": optimizer.get_lr(), "number": update_num}
            known |= {"dummy": ignore_grad, "first": place == 0}
            with in_update(criterion, **known), nullcontext() if last else unsynchronized(model):
                steps.append(
                    super().train_step(batch, model, criterion, optimizer, update_num, ignore_grad)
                )
        losses, sizes, own = zip(*steps, strict=True)
        return sum(losses), sum(sizes), {**summed(own), **logs}

    def optimizer_step(self, optimizer: Any, model: Any, update_num: int) -> None:
        """As fairseq's; what belongs to neurons that no pair uses stays as it is."""
        neurons = getattr(getattr(unwrapped(model), "core", None), "neurons", None)
        with nullcontext() if neurons is None else neurons.still():
            super().optimizer_step(optimizer, model, update_num)

    def begin_epoch(self, epoch: int, model: Any) -> None:
        """As fairseq's; before the first update, ``--eval-translation`` is made ready.

        Not earlier, since whatever else opens a checkpoint builds its task too.

        Raises:
            UserError: it cannot be had, or masks of neurons come without the model they are of.
        """
        super().begin_epoch(epoch, model)
        check_begun(unwrapped(model))
        if self.validation is None:
            self.validation = validation_of(self, model)

    def begin_valid_epoch(self, epoch: int, model: Any) -> None:
        """Translate and score, so that whatever looks at a validation finds its own scores."""
        super().begin_valid_epoch(epoch, model)
        if self.validation is not None:
            self.validation.run(model)

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        """As fairseq's, with what step hooks log in training, and the scores in validation."""
        super().reduce_metrics(logging_outputs, criterion)
        if criterion.training:
            for hook in self.step_hooks:
                hook.log(logging_outputs)
        elif self.validation is not None:
            self.validation.log()

    def post_validate(self, model: Any, stats: dict[str, Any], agg: Any) -> None:
        """Keep the scores of a validation, after its first subset."""
        if self.validation is not None:
            self.validation.write(stats["num_updates"])

    def remember(self, name: str, what: Any) -> None:
        """Have checkpoints keep the state of something that is neither model nor optimizer.

        Args:
            name: its key there.
            what: has ``state_dict`` and ``load_state_dict``, which gets its state, or None from a
                checkpoint without it, and whether the state of optimizers is to be left out.
        """
        self._remembered[name] = what
        if self._stored is not None:
            self._recall(name)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint remembers of data and the way of text, and what it was asked to."""
        asked = {name: what.state_dict() for name, what in self._remembered.items()}
        form = self._text_form()
        return {
            **self._data(),
            "text": settings_of(self.args),
            **({"text_form": form} if form else {}),
            **({"remembered": asked} if asked else {}),
        }

    def _text_form(self) -> dict[str, Any] | None:
        """Casing and tokenization of the data's text; None for a folder that does not say it."""
        root = Path(utils.split_paths(self.args.data)[0])
        return read_text_form(root).way_in() if (root / MARK).is_file() else None

    def _data(self) -> dict[str, Any]:
        return {
            "languages": list(self.langs),
            "source_dictionary": _digest(self.source_dictionary),
            "target_dictionary": _digest(self.target_dictionary),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Hold a checkpoint's data against this task's, and give back what else it remembers.

        Raises:
            UserError: where languages, dictionaries or the way of text differ.
        """
        for key, own in self._data().items():
            stored = state_dict.get(key, own)
            if stored == _digest_beside_mask(getattr(self, key, None)):
                raise UserError(
                    "`--source-noise` must be none or not none as for the checkpoint, whose "
                    f"dictionary differs by {MASK}; it is "
                    f"{getattr(self.args, 'source_noise', 'none')}"
                )
            if stored != own:
                what = "`--langs`" if key == "languages" else f"the {key.replace('_', ' ')}"
                raise UserError(f"{what} must be the checkpoint's, {stored}; it is {own}")
        check_settings(settings_of(self.args), state_dict.get("text", {}))
        form, own = state_dict.get("text_form"), self._text_form()
        if form and own and form != own:
            raise UserError(
                f"`data` must hold text in the form of the checkpoint's, {form_shown(form)}; "
                f"{self.args.data} has {form_shown(own)}"
            )
        self._stored = dict(state_dict.get("remembered", {}))
        for name in self._remembered:
            self._recall(name)

    def _recall(self, name: str) -> None:
        stored = (self._stored or {}).pop(name, None)
        self._remembered[name].load_state_dict(stored, self.resets_optimizer)


def _digest(dictionary: Dictionary) -> str:
    """A short name of the symbols and their order."""
    return digest_of(dictionary.symbols)


def _digest_beside_mask(dictionary: Dictionary | None) -> str | None:
    """The name of the dictionary that has the symbol for masked tokens where this one lacks it."""
    if dictionary is None:
        return None
    *others, last = dictionary.symbols
    return digest_of(others if last == MASK else [*others, last, MASK])


def digest_of(symbols: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(symbols).encode()).hexdigest()[:16]
