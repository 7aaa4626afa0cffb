"""A loaded model that translates any direction between its languages."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import compress
from types import SimpleNamespace
from typing import Any

import torch

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.data.segmentation import load_model
from tdo_plugin.data.textfolder import count_lines
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.batches import batches_of, batches_of_some, limits
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.early_stop import EarlyStop
from tdo_plugin.evaluation.decoding.length_penalty import length_exponent
from tdo_plugin.evaluation.decoding.likelihood import Likelihood, likelihoods, perplexity
from tdo_plugin.evaluation.decoding.loading import (
    check_languages,
    has_set,
    load_models,
    quantise_model,
    task_of,
)
from tdo_plugin.evaluation.outputs import Hypothesis
from tdo_plugin.metrics.textform import read_text_form
from tdo_plugin.models.forced_tag import forces_tag
from tdo_plugin.models.languages import tag_sides

Progress = Callable[[int], None]


class Translator:
    """The models of some checkpoints, loaded once for all directions of a data folder.

    Args:
        options: decoding options, with the checkpoints.
        data: the folder with dictionary, segmentation and test sets.
        device: the device.

    Raises:
        UserError: the checkpoints are not of a multilingual task, or do not match the data.
    """

    def __init__(self, options: DecodingOptions, data: DataFolder, device: torch.device) -> None:
        from fairseq.dataclass.configs import GenerationConfig

        from tdo_plugin.models.forced_tag import check_free_tag

        self.options, self.data, self.device = options, data, device
        self.form = read_text_form(data.root)
        self.models, self._task = load_models(options.checkpoints, data)
        self.languages = tuple(self._task.langs)
        longest = min(model.max_decoder_positions() for model in self.models) - 1
        if options.min_len > longest:
            raise UserError(
                f"`--min-len` must be at most {longest}, the model's maximum length; "
                f"it is {options.min_len}"
            )
        if options.free_tag:
            check_free_tag(self._task)
        self._generation = GenerationConfig(
            beam=options.beam,
            max_len_a=options.max_len_a,
            max_len_b=options.max_len_b,
            min_len=options.min_len,
            unkpen=options.unk_penalty,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            temperature=options.temperature,
            sampling=options.sampling,
            sampling_topk=options.sampling_topk,
        )
        bf16 = options.precision == "bf16"
        settings = SimpleNamespace(generation=self._generation, common=SimpleNamespace(bf16=bf16))
        for model in self.models:
            if options.precision == "fp16":
                model.half()
            model.to(device)
            if options.precision == "int8":
                quantise_model(model)
            model.prepare_for_inference_(settings)
        # loaded once, also for the copies of `with_beam`
        self._spm = cache(lambda: load_model(data.root / "spm.model"))

    def check(self, direction: str) -> None:
        """Raise UserError if the checkpoint lacks a language of the direction."""
        check_languages(self.languages, direction)

    def translate_test(self, direction: str, progress: Progress) -> list[Hypothesis]:
        """Translate the binarised test set of a direction, in its order.

        Args:
            direction: such as `de-fr`.
            progress: called with the number of sentences after each batch.

        Raises:
            UserError: no such test set, a language that the checkpoint lacks, or a sentence that
                is too long.
        """
        task = self.set_of("test", direction)
        return self._decode(task, task.dataset("test"), progress)

    def translate_lines(
        self,
        direction: str,
        lines: Sequence[str],
        progress: Progress = lambda _: None,
        prepared: bool = False,
        draw: int = 0,
    ) -> list[Hypothesis]:
        """Translate text, one sentence per line, in order; empty lines stay empty.

        Args:
            direction: such as `de-fr`.
            lines: plain text.
            progress: called with the number of sentences after each batch.
            prepared: whether the lines are already in the model's tokenization and casing.
            draw: further seed for sampling, besides that of the options.

        Raises:
            UserError: see `translate_test`.
        """
        task = task_of(self._task, direction)
        encoded = self._encode(task, direction, lines, prepared)
        full = [number for number, line in enumerate(encoded) if len(line) > 1]
        result = [Hypothesis("", "", 0.0)] * len(lines)
        if full:
            tokens = [encoded[number] for number in full]
            dataset = task.build_dataset_for_inference(
                tokens, [len(sentence) for sentence in tokens]
            )
            hypotheses = self._decode(task, dataset, progress, draw)
            for number, hypothesis in zip(full, hypotheses, strict=True):
                result[number] = hypothesis
        progress(len(lines) - len(full))
        return result

    def translate_into(
        self,
        source: str,
        targets: Sequence[str],
        lines: Sequence[str],
        progress: Progress = lambda _: None,
    ) -> dict[str, list[Hypothesis]]:
        """As `translate_lines`, into several languages with a single search where that is possible.

        It is possible unless the target's tag belongs to the target, whose search differs between
        languages.

        Args:
            source: language of the lines.
            targets: languages to translate into; at least one.
            lines: plain text.
            progress: called with the number of sentences after each batch.

        Raises:
            UserError: see `translate_test`.
        """
        directions = [f"{source}-{target}" for target in targets]
        tagged = forces_tag(self._task) or self._task.args.lang_tok_replacing_bos_eos
        if tagged or len(targets) == 1:
            return {
                target: self.translate_lines(direction, lines, progress)
                for target, direction in zip(targets, directions, strict=True)
            }
        from tdo_plugin.evaluation.decoding.joined_directions import JoinedDirections

        tasks = [task_of(self._task, direction) for direction in directions]
        encoded = self._encode(tasks[0], directions[0], lines, False)
        full = [number for number, line in enumerate(encoded) if len(line) > 1]
        tokens = [encoded[number] for number in full]
        sizes = [len(sentence) for sentence in tokens]
        sets = [task.build_dataset_for_inference(tokens, sizes) for task in tasks]
        joined = JoinedDirections(sets)
        hypotheses = iter(self._decode(tasks[0], joined, progress) if full else ())
        translations = {}
        for target in targets:
            translations[target] = [Hypothesis("", "", 0.0)] * len(lines)
            for number, hypothesis in zip(full, hypotheses, strict=False):
                text = self.form.restore(hypothesis.pieces, target)
                translations[target][number] = replace(hypothesis, text=text)
        return translations

    def with_beam(self, beam: int) -> Translator:
        """A translator with another beam size that shares the models."""
        other = copy.copy(self)
        other.options = replace(self.options, beam=beam)
        other.options.check()
        other._generation = copy.copy(self._generation)
        other._generation.beam = beam
        return other

    def task_of(self, direction: str) -> Any:
        """The task as fairseq-generate would set it up for a direction such as `de-fr`.

        Raises:
            UserError: a language that the checkpoint lacks.
        """
        return task_of(self._task, direction)

    def encoded(self, direction: str, text: str) -> torch.Tensor:
        """The token ids of one line of plain text, with the end symbol, without a tag."""
        return self._encode(self.task_of(direction), direction, [text], False)[0]

    @property
    def begins_with_target(self) -> bool:
        """Whether sources begin with the tag of the target language."""
        args = self._task.args
        return tag_sides(args)[0] == "tgt" and not args.lang_tok_replacing_bos_eos

    def limit(self, direction: str) -> int:
        """The maximum tokens of a source sentence, including tag and end symbol."""
        return limits(task_of(self._task, direction), self.models)[0]

    def too_long(
        self, direction: str, lines: Sequence[str], prepared: bool = False
    ) -> dict[int, int]:
        """The number of tokens of each line over the limit, by index.

        Args:
            direction: such as `de-fr`.
            lines: see `translate_lines`.
            prepared: see `translate_lines`.
        """
        task = task_of(self._task, direction)
        most = limits(task, self.models)[0]
        encoded = self._encode(task, direction, lines, prepared)
        sizes = {number: len(line) + 1 for number, line in enumerate(encoded)}
        return {number: size for number, size in sizes.items() if size > most}

    def _encode(
        self, task: Any, direction: str, lines: Sequence[str], prepared: bool
    ) -> list[torch.Tensor]:
        """Each line's token ids with the end symbol, without a tag."""
        source = direction.split("-")[0]
        text = lines if prepared else self.form.prepare(lines, source, self.data.root)
        encode = task.source_dictionary.encode_line
        return [
            encode(" ".join(pieces), add_if_not_exist=False).long()
            for pieces in self._spm().encode(list(text), out_type=str)
        ]

    def perplexity(self, direction: str) -> float | None:
        """Perplexity per target token on the validation set; None if there is no validation set.

        The end symbol is counted, padding and tag are not.
        """
        if not has_set(self.data, "valid", direction):
            return None
        task = self.set_of("valid", direction)
        scored = list(self.likelihoods(task, task.dataset("valid")))
        return perplexity(
            math.fsum(likelihood.target for likelihood in scored),
            sum(likelihood.target_tokens for likelihood in scored),
        )

    def set_of(self, split: str, direction: str) -> Any:
        """The task of a direction with one of its binarised sets loaded.

        Raises:
            UserError: no such set, or a language that the checkpoint lacks.
        """
        if not has_set(self.data, split, direction):
            raise UserError(
                f"`DATA` must hold a {split} set of {direction}; {self.data.root} does not"
            )
        task = task_of(self._task, direction)
        task.load_dataset(split)
        return task

    @property
    def no_text(self) -> frozenset[str]:
        """Pieces that are not text: the unknown word, and tags after the words."""
        dictionary = self._task.target_dictionary
        words = count_lines(self.data.root / "dict.txt")
        return frozenset((dictionary.unk_word, *dictionary.symbols[dictionary.nspecial + words :]))

    @property
    def tags_sources(self) -> bool:
        """Whether each source begins with a language tag."""
        args = self._task.args
        return args.langtoks["main"][0] is not None and not args.lang_tok_replacing_bos_eos

    def text_alone(self, language: str, lines: Sequence[str]) -> tuple[Any, Any]:
        """The task and a data set with lines of plain text as targets without source.

        The language is given as in training with `--monolingual`: by the tag before the target or
        instead of its begin symbol, or by the tag of the source, which then has nothing else.

        Raises:
            UserError: a language that the checkpoint lacks.
        """
        from fairseq.data import LanguagePairDataset

        direction = f"{language}-{language}"
        self.check(direction)
        task = task_of(self._task, direction)
        manager, (source_tag, target_tag) = task.data_manager, task.args.langtoks["main"]
        before = [manager.get_decoder_langtok(language, target_tag)] if forces_tag(task) else []
        on_source = tag_sides(task.args) == ("tgt", False)
        first = [manager.get_encoder_langtok(language, language, source_tag)] if on_source else []
        targets = [
            torch.cat([line.new_tensor(before), line])
            for line in self._encode(task, direction, lines, False)
        ]
        sources = [torch.tensor(first).long() for _ in targets]
        sides = [
            part
            for tokens, dictionary in (
                (sources, task.source_dictionary),
                (targets, task.target_dictionary),
            )
            for part in (tokens, [len(sequence) for sequence in tokens], dictionary)
        ]
        dataset = LanguagePairDataset(*sides, shuffle=False)
        if task.args.lang_tok_replacing_bos_eos:
            dataset = manager.alter_dataset_langtok(
                dataset,
                tgt_eos=task.target_dictionary.eos(),
                tgt_lang=language,
                tgt_langtok_spec=target_tag,
            )
        return task, manager.with_ids(dataset, language, language)

    def likelihoods(self, task: Any, dataset: Any, source: bool = False) -> Iterator[Likelihood]:
        """The likelihoods of all sentences in a set, in any order; see :func:`likelihoods`."""
        batches = batches_of(task, dataset, self.models, self.options)
        yield from likelihoods(self.models, task, batches, self.device, source)

    def _decode(
        self, task: Any, dataset: Any, progress: Progress, draw: int = 0
    ) -> list[Hypothesis]:
        from fairseq import utils

        from tdo_plugin.evaluation.decoding.sentence_sampling import SentenceSampling
        from tdo_plugin.models.forced_tag import free_tag
        from tdo_plugin.models.topk_beam_search import use_topk

        generator = task.build_generator(self.models, self._generation)
        generator = free_tag(generator) if self.options.free_tag else use_topk(generator)
        if self.options.sampling:
            key = self.options.seed, draw
            generator.search = SentenceSampling(
                task.target_dictionary, self.options.sampling_topk, key
            )
        generator.len_penalty = length_exponent(
            self.options.length_penalty, self.options.penalty_form
        )
        translated: dict[int, Hypothesis] = {}

        def search(batch: Any, early: EarlyStop) -> list[int]:
            """Translate a batch; returns the postponed sentences."""
            sample = utils.move_to_cuda(batch) if self.device.type == "cuda" else batch
            with torch.inference_mode():
                hypotheses, late = early.search(
                    sample["net_input"]["src_tokens"].size(1),
                    lambda: task.inference_step(generator, self.models, sample),
                )
            numbers = sample["id"].tolist()
            strip = generator.symbols_to_strip_from_output
            for number, ranked, again in zip(numbers, hypotheses, late, strict=True):
                if not again:
                    translated[number] = self._read(task, ranked[0], strip)
            progress(late.count(False))
            return list(compress(numbers, late))

        never = EarlyStop.never(generator)
        # in half precision many scores are equal, and the winner depends on the batch
        exact = self.options.precision in ("fp32", "int8") and not self.options.sampling
        early = EarlyStop(generator) if exact else never
        late = []
        for batch in batches_of(task, dataset, self.models, self.options):
            if batch:
                late += search(batch, early)
        for batch in batches_of_some(dataset, late, self.options):
            search(batch, never)
        return [translated[number] for number in range(len(translated))]

    def _read(self, task: Any, best: dict[str, Any], strip: set[int]) -> Hypothesis:
        tokens = best["tokens"].tolist()  # faster than single-element tensors in fairseq
        pieces = task.target_dictionary.string(tokens, extra_symbols_to_ignore=strip)
        text = self.form.restore(pieces, task.args.target_lang)
        return Hypothesis(pieces, text, float(best["score"]) / math.log(2))
