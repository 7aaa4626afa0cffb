"""The sentences of a direction that every validation translates, with references."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from fairseq import utils
from fairseq.data import Dictionary, data_utils
from fairseq.tasks.translation_multi_simple_epoch import TranslationMultiSimpleEpochTask

from tdo_plugin.data.textfolder import read_lines
from tdo_plugin.metrics.textform import TextForm, read_text_form
from tdo_plugin.runtime.log_lines import without_log_lines
from tdo_plugin.tasks.validation.directions import data_of
from tdo_plugin.tasks.validation.validation_options import eval_subset

SEED = 1  # of the sample; sets of the same size give the same sentence numbers
# Batch size relative to that of the validation loss, before division by the beam: without gradients
# a sentence takes a fraction of the memory, and a step's time hardly depends on the batch size.
ENLARGED = 4


@dataclass(frozen=True)
class ValidationSet:
    """The sample of a direction.

    Attributes:
        direction: such as `de-fr`.
        group: `supervised` or `zero_shot`.
        task: the task that fairseq-generate would set up for the direction.
        split: the subset that the sentences are from.
        batches: sentence numbers, by length.
        form: of the data folder's text.
        sources: plain text, detokenized, by sentence number.
        references: plain text, detokenized, by sentence number.
    """

    direction: str
    group: str
    task: TranslationMultiSimpleEpochTask
    split: str
    batches: tuple[list[int], ...]
    form: TextForm
    sources: dict[int, str]
    references: dict[int, str]

    @property
    def target(self) -> str:
        """The target language."""
        return self.direction.split("-")[1]

    @cached_property
    def _join(self) -> str | None:
        return piece_style(self.task.target_dictionary)

    def translate(
        self, model: Any, search: Namespace, batches: Sequence[list[int]]
    ) -> dict[int, str]:
        """Hypotheses for some of the batches, as plain text by sentence number.

        Args:
            model: in evaluation mode.
            search: options of fairseq's generator, such as `beam`.
            batches: some of the set's.
        """
        task, dataset = self.task, self.task.dataset(self.split)
        device = next(model.parameters()).device
        generator = task.build_generator([model], search)
        texts = {}
        for numbers in batches:
            sample = dataset.collater([dataset[number] for number in numbers])
            sample = utils.apply_to_sample(lambda tensor: tensor.to(device), sample)
            outputs = task.inference_step(generator, [model], sample)
            for number, hypotheses in zip(sample["id"].tolist(), outputs, strict=True):
                texts[number] = task.target_dictionary.string(
                    hypotheses[0]["tokens"].int().cpu(),
                    self._join,
                    extra_symbols_to_ignore=generator.symbols_to_strip_from_output,
                )
        return _plain(texts, self.form, self.target)


def piece_style(dictionary: Dictionary) -> str | None:
    """fairseq's name of the segmentation that the dictionary shows; None for whole words."""
    if any("▁" in symbol for symbol in dictionary.symbols):
        return "sentencepiece"
    return "subword_nmt" if any(symbol.endswith("@@") for symbol in dictionary.symbols) else None


def validation_set(
    task: TranslationMultiSimpleEpochTask, direction: str, model: Any
) -> ValidationSet:
    """Sample a direction's validation set.

    Texts come from the segmented text that `tdo preprocess` keeps, which has every character. If it
    is missing, they come from the binarised set, with `<<unk>>` for what is not in the dictionary.
    Both are detokenized and detruecased like hypotheses; if a folder keeps the plain text of its
    test sets, `tdo score` uses that instead.

    Raises:
        UserError: a sentence of the sample is too long for the model and must not be left out, or
            there are no sentences; the data folder's `form` is unknown, or sacremoses, which it
            needs, is not installed.
    """
    args = task.args
    source, target = direction.split("-")
    split = eval_subset(args)
    options = Namespace(**{**vars(args), "source_lang": source, "target_lang": target})
    direction_task = type(task)(options, task.langs, task.dicts, training=False)
    with without_log_lines():
        direction_task.load_dataset(split)
    dataset = direction_task.dataset(split)
    count = len(dataset)
    chosen = np.random.default_rng(SEED).permutation(count)[: args.eval_sentences]
    ordered = np.array(sorted(chosen.tolist(), key=lambda number: (*dataset.size(number), number)))
    limits = utils.resolve_max_positions(task.max_positions(), model.max_positions())
    ordered = direction_task.filter_indices_by_size(
        ordered, dataset, limits, args.skip_invalid_size_inputs_valid_test
    )
    by_size = dataset.batch_by_size(
        ordered,
        max_tokens=_enlarged(args.max_tokens_valid, args.eval_beam),
        max_sentences=_enlarged(args.batch_size_valid, args.eval_beam),
        required_batch_size_multiple=args.required_batch_size_multiple,
    )
    batches = tuple([int(number) for number in batch] for batch in by_size)
    form = read_text_form(data_of(task))
    sources, references = (
        _plain(texts, form, language)
        for texts, language in zip(
            _texts(direction_task, direction, split, batches), (source, target), strict=True
        )
    )
    group = "supervised" if direction in task.lang_pairs else "zero_shot"
    return ValidationSet(
        direction, group, direction_task, split, batches, form, sources, references
    )


def _plain(texts: dict[int, str], form: TextForm, language: str) -> dict[int, str]:
    return dict(zip(texts, form.plain(list(texts.values()), language), strict=True))


def _enlarged(limit: int | str | None, beam: int) -> int | None:
    """A batch size for translation; fairseq leaves sizes from the command line as strings."""
    return None if limit is None else max(int(limit), ENLARGED * int(limit) // beam)


def _texts(
    task: TranslationMultiSimpleEpochTask, direction: str, split: str, batches: Sequence[list[int]]
) -> tuple[dict[int, str], dict[int, str]]:
    """Sources and references of some batches in the folder's form, by sentence number."""
    dictionaries = task.source_dictionary, task.target_dictionary
    styles = [piece_style(dictionary) for dictionary in dictionaries]
    prefix = data_of(task) / "pieces" / task.data_manager.stem(split, direction)
    pieces = [prefix.with_name(f"{prefix.name}.{language}") for language in direction.split("-")]
    if all(path.is_file() for path in pieces):
        sampled = {number for batch in batches for number in batch}
        sides = [
            {
                n: data_utils.post_process(line, style)
                for n, line in enumerate(lines)
                if n in sampled
            }
            for lines, style in zip(map(read_lines, pieces), styles, strict=True)
        ]
        return sides[0], sides[1]
    texts: tuple[dict[int, str], dict[int, str]] = ({}, {})
    dataset, ignored = task.dataset(split), _tags(task, direction) | {dictionaries[0].pad()}
    for batch in batches:
        sample = dataset.collater([dataset[number] for number in batch])
        tokens = sample["net_input"]["src_tokens"], sample["target"]
        for side, rows, dictionary, style in zip(texts, tokens, dictionaries, styles, strict=True):
            for number, row in zip(sample["id"].tolist(), rows, strict=True):
                side[number] = dictionary.string(row, style, True, ignored)
    return texts


def _tags(task: TranslationMultiSimpleEpochTask, direction: str) -> set[int]:
    source, target = direction.split("-")
    of_source, of_target = task.args.langtoks["main"]
    manager = task.data_manager
    tags = (
        manager.get_encoder_langtok(source, target, of_source),
        manager.get_decoder_langtok(target, of_target),
    )
    return {tag for tag in tags if tag is not None}
