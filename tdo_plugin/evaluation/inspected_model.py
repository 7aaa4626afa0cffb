"""A trained model for analysis, and batches of sentences for it.

Shapes: B sentences, S source.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError
from tdo_plugin.evaluation.decoding.loading import has_set, load_models, task_of

if TYPE_CHECKING:
    from tdo_plugin.modules.token_context import TokenContext

BATCH = 8000  # source tokens


@dataclass(frozen=True)
class Cut:
    """Part of a split: the lines from share `start` to share `stop`."""

    split: str
    start: float = 0.0
    stop: float = 1.0


@dataclass(frozen=True)
class Sampling:
    """The choice of lines from a cut, independent of the model.

    Attributes:
        sentences: maximum sentences per direction; None: all.
        longest: maximum tokens of a source, including tag and end symbol; longer ones are skipped.
        seed: seed of the draw; sets of the same size yield the same lines.
    """

    sentences: int | None
    longest: int
    seed: int


class EvalModel:
    """The model of a checkpoint, in evaluation mode, for source sentences of a data folder.

    Args:
        path: the checkpoint.
        data: a folder with its dictionary.
        device: the device.
        dtype: number format of the parameters.

    Raises:
        UserError: the checkpoint is not of this package's models, or does not match the data.
    """

    def __init__(
        self,
        path: Path,
        data: DataFolder,
        device: torch.device,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        from tdo_plugin.models.tdo_transformer import TdoTransformer

        (model,), self._task = load_models([path], data)
        if not isinstance(model, TdoTransformer):
            raise UserError(
                f"`--path` must name checkpoints of tdo_plugin's models; {path} is of "
                f"{type(model).__name__}"
            )
        self.path, self.device = path, device
        self.model = model.eval().requires_grad_(False).to(device, dtype)
        self.core = self.model.core
        self.spec = self.core.spec

    def criterion(self, state: Mapping[str, Any]) -> Any:
        """The criterion of the training, given the content of the checkpoint."""
        cfg = state.get("cfg")
        options = {**cfg["criterion"], "criterion": cfg["criterion"]["_name"]} if cfg else None
        return self._task.build_criterion(Namespace(**options) if options else state["args"])

    @property
    def symbols(self) -> list[str]:
        """The source vocabulary, by id."""
        return list(self._task.source_dictionary.symbols)

    @property
    def ignored(self) -> set[int]:
        """Ids that are not words: fairseq's symbols except unknown words, and language tags."""
        dictionary = self._task.source_dictionary
        return {dictionary.bos(), dictionary.pad(), dictionary.eos()} | self._tags()

    @property
    def types(self) -> Tensor:
        """Mask of vocabulary entries that are subword pieces, (V,)."""
        dictionary, tags = self._task.source_dictionary, self._tags()
        return torch.tensor(
            [
                number >= dictionary.nspecial
                and number not in tags
                and not symbol.startswith("madeupword")  # padding entries of the dictionary
                for number, symbol in enumerate(dictionary.symbols)
            ]
        )

    @property
    def begins_with_target(self) -> bool:
        """Whether sources begin with the tag of the target language."""
        from tdo_plugin.models.languages import tag_sides

        args = self._task.args
        return tag_sides(args)[0] == "tgt" and not args.lang_tok_replacing_bos_eos

    def _tags(self) -> set[int]:
        from fairseq.data.multilingual.multilingual_utils import get_lang_tok

        dictionary, style = self._task.source_dictionary, self._task.args.lang_tok_style
        tags = [get_lang_tok(language, style) for language in self._task.langs]
        return {dictionary.index(tag) for tag in tags} - {dictionary.unk()}

    def batches(
        self, direction: str, cut: Cut, sampling: Sampling
    ) -> Iterator[tuple[Tensor, Tensor, TokenContext]]:
        """Batches of a direction's sources, grouped by length.

        Returns:
            Line numbers (B,) in the set, source tokens (B, S), and the sentences' context (B,) if
            the model uses it.

        Raises:
            UserError: the folder has no such set, or a sentence is too long for the model.
        """
        dataset = self._dataset(direction, cut)
        lengths = {number: dataset.size(number)[:1] for number in _lines(len(dataset), cut)}
        yield from self._sources(dataset, self._drawn(lengths, sampling, BATCH))

    def readings(
        self, direction: str, lines: Sequence[str], longest: int, tokens: int
    ) -> Iterator[tuple[Tensor, Tensor, TokenContext]]:
        """Batches of given sentences as sources of a direction, which may be an identity pair.

        Args:
            direction: such as `de-fr`, or `de-de`.
            lines: segmented sentences.
            longest: maximum tokens of a source, including tag and end symbol; longer ones are
                skipped.
            tokens: maximum tokens per batch, including padding.

        Returns:
            As :meth:`batches`, with indices of `lines`.

        Raises:
            UserError: the model lacks a language, or a sentence is too long for the model.
        """
        dictionary, task = self._task.source_dictionary, task_of(self._task, direction)
        encoded = [
            dictionary.encode_line(line, add_if_not_exist=False, append_eos=True).long()
            for line in lines
        ]
        dataset = task.build_dataset_for_inference(encoded, [len(line) for line in encoded])
        lengths: dict[int, tuple[int, ...]] = {
            number: (len(dataset[number]["source"]),) for number in range(len(encoded))
        }
        drawn = self._drawn(lengths, Sampling(None, longest, seed=0), tokens)
        yield from self._sources(dataset, drawn)

    def _sources(
        self, dataset: Any, drawn: Iterable[list[int]]
    ) -> Iterator[tuple[Tensor, Tensor, TokenContext]]:
        from tdo_plugin.models.tdo_transformer import sentence_context

        for numbers in drawn:
            batch = dataset.collater([dataset[number] for number in numbers])
            fed = batch["net_input"]
            context = sentence_context(self.core, fed.get("src_lang_id"), fed.get("tgt_lang_id"))
            yield (
                batch["id"],
                fed["src_tokens"].to(self.device),
                context.to(self.device),
            )

    def samples(
        self, direction: str, cut: Cut, sampling: Sampling, tokens: int
    ) -> Iterator[dict[str, Any]]:
        """Batches of a direction's sentence pairs, grouped by length, as fairseq's samples.

        Args:
            direction: such as `de-fr`.
            cut: the part of the set.
            sampling: the choice of lines; ``longest`` applies to both sides.
            tokens: maximum tokens per batch on its longer side, including padding.

        Raises:
            UserError: see :meth:`batches`.
        """
        from fairseq import utils

        dataset = self._dataset(direction, cut)
        lengths = {number: dataset.size(number) for number in _lines(len(dataset), cut)}
        for numbers in self._drawn(lengths, sampling, tokens):
            batch = dataset.collater([dataset[number] for number in numbers])
            yield utils.apply_to_sample(lambda tensor: tensor.to(self.device), batch)

    def _drawn(
        self, lengths: dict[int, tuple[int, ...]], sampling: Sampling, tokens: int
    ) -> Iterator[list[int]]:
        """Line numbers of each batch, given the lengths of each line's source (and target).

        Raises:
            UserError: a line is too long for the model.
        """
        sizes = {number: max(sides) for number, sides in lengths.items()}
        short = [number for number, size in sizes.items() if size <= sampling.longest]
        order = np.random.default_rng(sampling.seed).permutation(len(short))
        chosen = sorted(
            (short[place] for place in order[: sampling.sentences]),
            key=lambda number: (sizes[number], number),
        )
        limits = self.spec.max_source_positions, self.spec.max_target_positions
        # the maximum length of each side
        longest = [max(side) for side in zip(*(lengths[number] for number in chosen), strict=True)]
        for side, limit, length in zip(("source", "target"), limits, longest, strict=False):
            if length > limit:
                raise UserError(
                    f"`--longest` must be at most {limit}, the maximum {side} length of "
                    f"{self.path}; it is {sampling.longest}"
                )
        return _packed(chosen, sizes, tokens)

    def _dataset(self, direction: str, cut: Cut) -> Any:
        task = task_of(self._task, direction)
        task.load_dataset(cut.split)
        return task.dataset(cut.split)


def check_sets(data: DataFolder, directions: tuple[str, ...], cut: Cut, hint: str) -> None:
    """Raise UserError if a direction has no such set; `hint` is appended to the message."""
    missing = [direction for direction in directions if not has_set(data, cut.split, direction)]
    if missing:
        raise UserError(
            f"`--data` must have a {cut.split} set for each direction; {data.root} has none for "
            f"{missing[0]}{hint}"
        )


def lines_of(data: DataFolder, split: str, direction: str) -> int:
    """The number of lines in the first shard of a set, which must exist."""
    from fairseq.data import indexed_dataset

    source, target = direction.split("-")
    pairs = (direction, f"{target}-{source}")
    prefixes = [str(data.root / f"{split}.{pair}.{source}") for pair in pairs]
    (prefix, *_) = [candidate for candidate in prefixes if Path(f"{candidate}.idx").is_file()]
    return len(indexed_dataset.make_dataset(prefix, indexed_dataset.infer_dataset_impl(prefix)))


def _lines(count: int, cut: Cut) -> range:
    return range(round(cut.start * count), round(cut.stop * count))


def _packed(numbers: list[int], sizes: dict[int, int], tokens: int) -> Iterator[list[int]]:
    """Batches of sentences in order, as many as fit when padded to the longest."""
    batch: list[int] = []
    for number in numbers:
        if batch and (len(batch) + 1) * sizes[number] > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
