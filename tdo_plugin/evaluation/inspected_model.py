"""A trained model that is only looked at, and the source sentences that it is shown.

Shapes: B sentences, S source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    """Part of a split: the lines from a share of it to another."""

    split: str
    start: float = 0.0
    stop: float = 1.0


@dataclass(frozen=True)
class Sampling:
    """Which lines of a cut are taken; the same ones whatever the model.

    Attributes:
        sentences: at most, of each direction; None: all.
        longest: most tokens of a source, tag and end symbol included; longer ones are left out.
        seed: of the draw; sets of the same size give the same lines.
    """

    sentences: int | None
    longest: int
    seed: int


class EvalModel:
    """The model of a checkpoint, in evaluation mode, for source sentences of a data folder.

    Args:
        path: of the checkpoint.
        data: a folder with its dictionary.
        device: where to compute.
        dtype: of the parameters.

    Raises:
        UserError: the checkpoint is none of this package's models, or does not fit the data.
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

    @property
    def symbols(self) -> list[str]:
        """The source's vocabulary, by id."""
        return list(self._task.source_dictionary.symbols)

    @property
    def ignored(self) -> set[int]:
        """Entries that are no words: fairseq's own but for unknown words, and all language tags."""
        dictionary = self._task.source_dictionary
        return {dictionary.bos(), dictionary.pad(), dictionary.eos()} | self._tags()

    @property
    def types(self) -> Tensor:
        """Which entries of the vocabulary are types of words' pieces, (V,)."""
        dictionary, tags = self._task.source_dictionary, self._tags()
        return torch.tensor(
            [
                number >= dictionary.nspecial
                and number not in tags
                and not symbol.startswith("madeupword")  # fills a dictionary up
                for number, symbol in enumerate(dictionary.symbols)
            ]
        )

    @property
    def begins_with_target(self) -> bool:
        """Whether a source begins with the tag of its target language."""
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
        """Sources of a direction, of about one length together.

        Returns:
            Lines (B,) in the set, source tokens (B, S), and the sentences' context (B,) where the
            model asks for them.

        Raises:
            UserError: the folder has no such set, or the model cannot take a sentence of it.
        """
        dataset = self._dataset(direction, cut)
        lengths = {number: dataset.size(number)[:1] for number in _lines(len(dataset), cut)}
        yield from self._sources(dataset, self._drawn(lengths, sampling, BATCH))

    def readings(
        self, direction: str, lines: Sequence[str], longest: int, tokens: int
    ) -> Iterator[tuple[Tensor, Tensor, TokenContext]]:
        """Sentences as sources of a direction, which may be from a language into itself.

        Args:
            direction: such as `de-fr`, or `de-de`.
            lines: in pieces.
            longest: most tokens of a source, tag and end symbol included; longer ones are left out.
            tokens: of a batch at most, with padding.

        Returns:
            As :meth:`batches`, by number of the line.

        Raises:
            UserError: the model does not know the languages, or cannot take a sentence.
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
        """Sentence pairs of a direction, of about one length together, as fairseq's batches.

        Args:
            direction: such as `de-fr`.
            cut: what of its set.
            sampling: which lines; ``longest`` holds for either side.
            tokens: of a batch at most, of its longer side with padding.

        Raises:
            UserError: as :meth:`batches`.
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
        """The numbers of each batch, given the length of each line's source, and of its target.

        Raises:
            UserError: the model cannot take one of them.
        """
        sizes = {number: max(sides) for number, sides in lengths.items()}
        short = [number for number, size in sizes.items() if size <= sampling.longest]
        order = np.random.default_rng(sampling.seed).permutation(len(short))
        chosen = sorted(
            (short[place] for place in order[: sampling.sentences]),
            key=lambda number: (sizes[number], number),
        )
        limits = self.spec.max_source_positions, self.spec.max_target_positions
        # of each side that is there the longest
        longest = [max(side) for side in zip(*(lengths[number] for number in chosen), strict=True)]
        for side, limit, length in zip(("source", "target"), limits, longest, strict=False):
            if length > limit:
                raise UserError(
                    f"`--longest` must be at most {limit}, the longest {side} that {self.path} "
                    f"takes; it is {sampling.longest}"
                )
        return _packed(chosen, sizes, tokens)

    def _dataset(self, direction: str, cut: Cut) -> Any:
        task = task_of(self._task, direction)
        task.load_dataset(cut.split)
        return task.dataset(cut.split)


def check_sets(data: DataFolder, directions: tuple[str, ...], cut: Cut, hint: str) -> None:
    """Raise UserError where a direction has no such set; `hint` says what helps."""
    missing = [direction for direction in directions if not has_set(data, cut.split, direction)]
    if missing:
        raise UserError(
            f"`--data` must hold a {cut.split} set of each direction; {data.root} has none of "
            f"{missing[0]}{hint}"
        )


def lines_of(data: DataFolder, split: str, direction: str) -> int:
    """How many lines the first shard of a set has; the folder must hold it."""
    from fairseq.data import indexed_dataset

    source, target = direction.split("-")
    pairs = (direction, f"{target}-{source}")
    prefixes = [str(data.root / f"{split}.{pair}.{source}") for pair in pairs]
    (prefix, *_) = [candidate for candidate in prefixes if Path(f"{candidate}.idx").is_file()]
    return len(indexed_dataset.make_dataset(prefix, indexed_dataset.infer_dataset_impl(prefix)))


def _lines(count: int, cut: Cut) -> range:
    return range(round(cut.start * count), round(cut.stop * count))


def _packed(numbers: list[int], sizes: dict[int, int], tokens: int) -> Iterator[list[int]]:
    """Sentences in their order, as many as fit a batch when all are as long as the longest."""
    batch: list[int] = []
    for number in numbers:
        if batch and (len(batch) + 1) * sizes[number] > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
