"""Multilingual translation with correct language ids in every batch."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from fairseq.data import Dictionary
from fairseq.tasks import register_task
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask
from torch import Tensor

from tdo_plugin.errors import UserError
from tdo_plugin.models.mask_files import check_begun
from tdo_plugin.tasks import fairseq_options
from tdo_plugin.tasks.auxiliary_data import (
    AuxiliaryDataManager,
    add_auxiliary_options,
    check_auxiliary_options,
    check_mark,
    check_terms,
    check_topology,
)
from tdo_plugin.tasks.language_ids import LanguageIdDataManager
from tdo_plugin.tasks.language_options import check_language_options
from tdo_plugin.tasks.loading import (
    LeanDataManager,
    add_loading_options,
    check_loading_options,
)
from tdo_plugin.tasks.required_parts import check_memory, check_takes_languages, check_trained
from tdo_plugin.tasks.search_options import add_search_options, check_alignment, chosen_search
from tdo_plugin.tasks.sentence_lengths import SentenceLengths
from tdo_plugin.tasks.source_noise import (
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
    in_one_update,
    summed,
    unwrapped,
)
from tdo_plugin.tasks.task_state import TaskState
from tdo_plugin.tasks.tracking_options import add_tracking_options
from tdo_plugin.tasks.validation import Validation, add_validation_options, validation_of
from tdo_plugin.text_settings import settings_of


class _LeanLanguageIdDataManager(  # type: ignore[misc]  # each calls the next
    AuxiliaryDataManager, LanguageIdDataManager, LeanDataManager
):
    """Auxiliary data, language ids and lean loading combined; they do not depend on each other."""


def _manager(args: Namespace) -> type[LanguageIdDataManager]:
    """The class that loads data; options of older checkpoints lack the choice."""
    lean = getattr(args, "data_loading", "lean") == "lean"
    return _LeanLanguageIdDataManager if lean else LanguageIdDataManager


@register_task("tdo_translation")
class TdoTranslationTask(TranslationMultiSimpleEpochTask):
    """fairseq's ``translation_multi_simple_epoch`` with its options and eight additions.

    Every batch, in training, validation, generation and interactive use, has the source and target
    language of each sentence. Checkpoints record dictionaries, languages and all text
    preprocessing, and refuse to load with others. Trained directions need no validation set.
    ``--eval-translation`` also translates in validation. Data are memory-mapped
    (``--data-loading``). ``step_hooks``, such as ``--source-noise``, transform batches before they
    are trained on. Criterions are notified of each update. Objects that they train outside the
    model are saved in checkpoints (``register_state``).
    """

    provides_lang_ids = True  # in every batch, for models with parts for each language
    provides_update_info = True  # to criterions, some of which train objects outside the model
    resets_optimizer = False  # whether training resumes without the optimizer's state

    @property
    def trains_unlisted_pairs(self) -> bool:
        """Whether there are sentences of pairs other than those of ``--lang-pairs``."""
        return getattr(self.args, "monolingual", None) is not None  # they have no source language

    @staticmethod
    def add_args(parser: ArgumentParser) -> None:
        """Add the options of fairseq's task, and those of loading, trackers and scores."""
        TranslationMultiSimpleEpochTask.add_args(parser)
        add_loading_options(parser)
        add_auxiliary_options(parser)
        add_validation_options(parser)
        add_noise_options(parser)
        add_search_options(parser)
        add_tracking_options(parser)

    def __init__(
        self, args: Namespace, langs: list[str], dicts: dict[str, Dictionary], training: bool
    ) -> None:
        if args.enable_reservsed_directions_shared_datasets:
            raise UserError(
                "`--enable-reservsed-directions-shared-datasets` must be off: fairseq would use "
                "a source with its language tag as the target of the reverse direction; it is on"
            )
        super().__init__(args, langs, dicts, training)
        self.data_manager = _manager(args)(
            args, self.lang_pairs, langs, dicts, self.sampling_method
        )
        self.validation: Validation | None = None
        self._begun = False
        self.task_state = TaskState(self)
        self.lengths = SentenceLengths(self)
        self.step_hooks = self.make_step_hooks() if training else []

    def make_step_hooks(self) -> list[StepHook]:
        """The hooks that transform a batch before it is trained on, in order."""
        return [] if no_noise(self.args) else [SourceNoise(self)]

    @staticmethod
    def check_command_line(parser: ArgumentParser, args: Namespace, words: Sequence[str]) -> None:
        """Called for all command lines of fairseq's commands.

        Raises:
            UserError: an option would have no effect, or is invalid.
        """
        fairseq_options.check_command_line(parser, args, words)

    @classmethod
    def setup_task(cls, args: Namespace, **kwargs: Any) -> "TdoTranslationTask":
        """As fairseq's.

        Raises:
            UserError: a language is not in ``--langs``, a dictionary is missing, or options of
                loading contradict each other.
        """
        check_language_options(args)
        check_loading_options(args)
        check_noise_options(args)
        check_mark(args)
        settings = settings_of(args)
        for side in ("left_pad_source", "left_pad_target"):
            # a checkpoint holds True, but fairseq compares with text and would read False
            setattr(args, side, str(settings[side]))
        try:
            langs, dicts, training = _manager(args).prepare(cls.load_dictionary, args, **kwargs)
            if not no_noise(args):
                add_mask_symbol(list(dicts.values()))
            if training:
                check_auxiliary_options(args)
            # so that checkpoints hold the list, and the file is no longer needed
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
            UserError: languages of one side have different dictionaries.
        """
        sides = [
            list({id(dicts.get(language)): language for language in side}.values())
            for side in (source_langs, target_langs)
        ]
        try:
            super().check_dicts(dicts, *sides)
        except AssertionError:
            raise UserError(
                "`data` must have one dictionary for all source languages and one for all target "
                "languages; it has several"
            ) from None

    def build_model(self, args: Namespace, from_checkpoint: bool = False) -> Any:
        """As fairseq's.

        Raises:
            UserError: the model takes no language ids.
        """
        model = super().build_model(args, from_checkpoint)
        check_takes_languages(model, args)
        check_topology(model, args)
        self.data_manager.model_limit = model.max_positions()[0]  # for --truncate-source
        return model

    def build_criterion(self, cfg: Any, *more: Any) -> Any:
        """As fairseq's; checks that parts that only a loss term trains have the term.

        Raises:
            UserError: a term is missing, and several workers would wait for the gradient.
        """
        criterion = super().build_criterion(cfg, *more)
        terms = getattr(criterion, "terms", {})
        check_terms(terms, self.args)
        if self.training:
            check_trained(self.args, terms)
        return criterion

    def build_generator(self, models: Any, args: Any, *more: Any, **options: Any) -> Any:
        """As fairseq's, with a faster search that gives the same hypotheses.

        Raises:
            UserError: alignments are requested, but with one softmax over source and target there
                is no separate attention over the source; or ``--free-tag`` without forced tags.
        """
        check_alignment(args)
        generator = super().build_generator(models, args, *more, **options)
        return chosen_search(generator, self)

    def load_dataset(self, split: str, *args: Any, **kwargs: Any) -> None:
        """As fairseq's; validation sets may be missing if they are not used.

        Raises:
            UserError: a training set is missing for one of the directions, or another set for all
                directions.
        """
        trained = split == getattr(self.args, "train_subset", None)
        last = getattr(self.args, "max_epoch", 0)
        if trained and split in self.datasets and 0 < last < kwargs.get("epoch", 1):
            return  # fairseq loads the shard of the next epoch after the last one, too
        try:
            super().load_dataset(split, *args, **kwargs)
        except (FileNotFoundError, KeyError) as error:
            if isinstance(error, KeyError) and not str(error.args[0]).startswith("main:"):
                raise
            if self.training and not trained and getattr(self.args, "disable_validation", False):
                return  # fairseq loads validation sets even if they are not used
            raise UserError(
                f"`data` must have split {split} for {'each' if trained else 'at least one'} of "
                f"{', '.join(self.lang_pairs)}; {self.args.data} does not"
                + (" (or set --disable-validation)" if self.training and not trained else "")
            ) from None

    def inference_step(
        self, generator: Any, models: Any, sample: Sample, *more: Any, **options: Any
    ) -> Any:
        """As fairseq's; adds language ids, which fairseq-interactive drops from batches."""
        if "tgt_lang_id" not in sample["net_input"] and getattr(self.args, "target_lang", None):
            pair = self.args.source_lang, self.args.target_lang
            sample = self.data_manager.batch_with_ids(sample, *pair)
        return super().inference_step(generator, models, sample, *more, **options)

    def build_dataset_for_inference(
        self, src_tokens: list[Tensor], src_lengths: list[int], constraints: Any = None
    ) -> Any:
        """As fairseq's, for tokens without tags; ``--truncate-source`` leaves space for the tag."""
        src_tokens = self.data_manager.cut_untagged(src_tokens)
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
            UserError: sentences are too long, and are not to be left out.
        """
        kept = self.lengths.check(dataset, indices, max_positions, ignore_invalid_inputs)
        if not ignore_invalid_inputs:
            return kept
        return super().filter_indices_by_size(indices, dataset, max_positions, True)  # warns

    def create_batch_sampler_func(self, *limits: Any, **options: Any) -> Any:
        """As fairseq's.

        Raises:
            UserError: (by the returned function) a sentence does not fit in a batch.
        """
        make = super().create_batch_sampler_func(*limits, **options)

        def construct_batch_sampler(dataset: Any, epoch: int) -> Any:
            with self.lengths.batching(dataset):
                return make(dataset, epoch)

        return construct_batch_sampler

    def get_batch_iterator(self, dataset: Any, **options: Any) -> Any:
        """As fairseq's; fairseq-generate may process one of ``--num-shards`` parts of a set."""
        shards = getattr(self.args, "num_shards", 1)
        if not self.training and shards > 1 and options.get("num_shards", 1) == 1:
            options |= {"num_shards": shards, "shard_id": self.args.shard_id}
        # with `--sampling-method RoundRobin` fairseq batches here
        with self.lengths.batching(dataset):
            return super().get_batch_iterator(dataset=dataset, **options)

    def train_step(
        self,
        sample: Sample,
        model: Any,
        criterion: Any,
        optimizer: Any,
        update_num: int,
        ignore_grad: bool = False,
    ) -> tuple[Any, Any, dict[str, Any]]:
        """As fairseq's, summed over the batches that the step hooks make."""
        step = super().train_step
        batches, logs = batches_of(self.step_hooks, sample, model, update_num)
        results = []
        update = {"lr": optimizer.get_lr(), "number": update_num, "dummy": ignore_grad}
        for batch in in_one_update(batches, model, criterion, **update):
            results.append(step(batch, model, criterion, optimizer, update_num, ignore_grad))
        losses, sizes, logged = zip(*results, strict=True)
        return sum(losses), sum(sizes), {**summed(logged), **logs}

    def optimizer_step(self, optimizer: Any, model: Any, update_num: int) -> None:
        """As fairseq's; parameters of neurons that no pair uses stay unchanged."""
        neurons = getattr(getattr(unwrapped(model), "core", None), "neurons", None)
        with nullcontext() if neurons is None else neurons.still():
            super().optimizer_step(optimizer, model, update_num)

    def begin_epoch(self, epoch: int, model: Any) -> None:
        """As fairseq's; prepares ``--eval-translation`` before the first update.

        Not earlier, since other commands that open a checkpoint also build its task.

        Raises:
            UserError: it is not possible, or neuron masks are used without their checkpoint.
        """
        super().begin_epoch(epoch, model)
        check_begun(unwrapped(model))
        if not self._begun:
            self._begun = True
            check_memory(model, self.args)
            self.validation = validation_of(self, model)

    def begin_valid_epoch(self, epoch: int, model: Any) -> None:
        """Translate and score, so that the scores belong to this validation."""
        super().begin_valid_epoch(epoch, model)
        if self.validation is not None:
            self.validation.run(model)

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        """As fairseq's, with the logs of step hooks in training and the scores in validation."""
        super().reduce_metrics(logging_outputs, criterion)
        if criterion.training:
            for hook in self.step_hooks:
                hook.log(logging_outputs)
        elif self.validation is not None:
            self.validation.log()

    def post_validate(self, model: Any, stats: dict[str, Any], agg: Any) -> None:
        """Write the scores of a validation, after its first subset."""
        if self.validation is not None:
            self.validation.write(stats["num_updates"])

    def register_state(self, name: str, part: Any) -> None:
        """Save the state of an object that is neither model nor optimizer in checkpoints.

        Args:
            name: its key in checkpoints.
            part: has ``state_dict`` and ``load_state_dict``; the latter is called with its state,
                or None for a checkpoint without it, and whether to ignore optimizers' state.
        """
        self.task_state.register(name, part)

    def state_dict(self) -> dict[str, Any]:
        """The state of the task and of registered objects, for a checkpoint."""
        return self.task_state.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Compare a checkpoint's data with this task's, and restore registered objects.

        Raises:
            UserError: languages, dictionaries or text preprocessing differ.
        """
        self.task_state.load_state_dict(state_dict)
