"""The job of `tdo neurons importance` for one language pair, in a worker process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from tdo_plugin.evaluation.inspected_model import EvalModel

DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
FP16_SCALE = 128.0  # fairseq's initial loss scale


@dataclass(frozen=True)
class Settings:
    """The settings that determine the numbers, besides checkpoint and method.

    Attributes:
        inner: whether inner feed-forward neurons are measured `after` or `before` the ReLU.
        split: `train`, `valid` or `test`.
        sentences: maximum number of sentences per pair; None: all.
        longest: maximum tokens on either side.
        seed: seed for drawing sentences.
        label_smoothing: label smoothing of the loss.
        precision: `fp32`, `fp16` or `bf16`.
        data: digest of the data folder's settings.
        pairs: all language pairs.
    """

    inner: str
    split: str
    sentences: int | None
    longest: int
    seed: int
    label_smoothing: float
    precision: str
    data: str
    pairs: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The settings as they are read back from a file."""
        return {**vars(self), "pairs": list(self.pairs)}


@dataclass(frozen=True)
class ImportanceWork:
    """The input shared by all workers.

    Attributes:
        path: the checkpoint.
        checkpoint: digest of its parameters.
        method: such as `taylor`.
        settings: see `Settings`.
        max_tokens: tokens per batch; affects only rounding.
        data: the data folder.
        out: the folder for parts.
        user_dir: a further package to import.
    """

    path: Path
    checkpoint: str
    method: str
    settings: Settings
    max_tokens: int
    data: DataFolder
    out: Path
    user_dir: Path | None = None

    @property
    def checkpoints(self) -> tuple[Path, ...]:
        """The checkpoints to load."""
        return (self.path,)

    def load(self, device: str) -> Measurer:
        """Load the model.

        Raises:
            UserError: see `EvalModel`.
        """
        import torch

        from tdo_plugin.evaluation.decoding.worker import begin
        from tdo_plugin.evaluation.inspected_model import EvalModel

        begin(device, self.user_dir)
        dtype = getattr(torch, DTYPES[self.settings.precision])
        return Measurer(self, EvalModel(self.path, self.data, torch.device(device), dtype))


class Measurer:
    """A model whose neurons are measured."""

    def __init__(self, work: ImportanceWork, model: EvalModel) -> None:
        self._work, self._model = work, model

    def write(self, direction: str, path: Path, progress: Callable[[int], None]) -> None:
        """Measure a pair and write its part.

        Raises:
            UserError: no sentence is short enough, or a result is not finite.
        """
        from tdo_plugin.modules.methods.neurons import neuron_outputs
        from tdo_plugin.neuron_files import Importance

        work, start = self._work, time.monotonic()
        means, counts = self._measure(direction, progress)
        stack = self._model.core.stack
        counts["seconds"] = round(time.monotonic() - start, 1)
        Importance(
            work.method,
            (direction,),
            {name: theta[None] for name, theta in means.items()},
            {
                name: side_of(name, getattr(stack, "target_layer", 0))
                for name in neuron_outputs(stack)
            },
            work.checkpoint,
            {"settings": work.settings.as_dict(), "of_pairs": {direction: counts}},
        ).write(path)

    def _measure(
        self, direction: str, progress: Callable[[int], None]
    ) -> tuple[dict[str, Tensor], dict[str, Any]]:
        import torch

        from tdo_plugin.analysis.neurons.neuron_importance import (
            METHODS,
            NeuronMeans,
            RealPositions,
        )
        from tdo_plugin.evaluation.inspected_model import Cut, Sampling
        from tdo_plugin.modules.methods.neurons import neuron_outputs, rectified_projections

        work, settings = self._work, self._work.settings
        stack = self._model.core.stack
        neuron_means = NeuronMeans(
            neuron_outputs(stack),
            METHODS[work.method],
            scale=FP16_SCALE if settings.precision == "fp16" else 1.0,
            rectified=rectified_projections(stack) if settings.inner == "after" else (),
        )
        sentences = positions = tokens = 0
        loss = 0.0
        sampling = Sampling(settings.sentences, settings.longest, settings.seed)
        samples = self._model.samples(direction, Cut(settings.split), sampling, work.max_tokens)
        for sample in samples:
            fed, target, pad = unlike_sides(self._model, sample)
            real = fed["src_tokens"].ne(pad), fed["prev_output_tokens"].ne(pad)
            smoothed = target, settings.label_smoothing
            loss += neuron_means.add(RealPositions(*real), lambda: self._loss(fed, smoothed))  # noqa: B023
            sentences += len(target)
            positions += sum(int(mask.sum()) for mask in real)
            tokens += int(target.ne(pad).sum())
            progress(len(target))
        if not sentences:
            raise UserError(
                f"`--data` must have a {settings.split} sentence of at most {settings.longest} "
                "tokens (`--longest`); it has none"
            )
        means = neuron_means.means
        bad = [name for name, theta in means.items() if not torch.isfinite(theta).all()]
        if bad:
            raise UserError(
                f"`--precision` must hold every gradient and activation of {direction}; in "
                f"{settings.precision} those of {bad[0]} are not finite"
            )
        counts = {"sentences": sentences, "positions": positions, "loss": loss / tokens}
        return means, counts

    def _loss(self, fed: dict[str, Any], smoothed: tuple[Tensor, float]) -> Tensor:
        _, extra = self._model.model(**fed, smoothed_target=smoothed)
        cross_entropy: Tensor = extra["cross_entropy"][0]
        return cross_entropy


def unlike_sides(model: EvalModel, sample: dict[str, Any]) -> tuple[dict[str, Any], Tensor, int]:
    """A batch's input, its target (padded to a length unlike the source's), and the pad index."""
    from tdo_plugin.analysis.neurons.neuron_importance import unlike

    pad = model.core.padding_idx
    fed = sample["net_input"]
    source = fed["src_tokens"]
    shifted = unlike(source, fed["prev_output_tokens"], pad)
    return {**fed, "prev_output_tokens": shifted}, unlike(source, sample["target"], pad), pad


def side_of(module: str, target_layer: int) -> str:
    """`source` for a module that only the source passes, else `target`.

    Args:
        module: the module's name in the stack of layers.
        target_layer: number of layers before the target enters a decoder-only stack.
    """
    from tdo_plugin.neuron_files import place_of

    place = place_of(module)
    alone = place.stack == "encoder" or (place.stack == "layers" and place.layer <= target_layer)
    return "source" if alone else "target"


@dataclass(frozen=True)
class ImportanceJob:
    """One language pair for one worker.

    Attributes:
        name: the pair, such as `de-en`.
        sentences: number of sentences to measure.
    """

    name: str
    sentences: int
    counts: bool = True

    @property
    def target(self) -> str:
        """The pair's target language."""
        return self.name.split("-")[1]

    def is_whole(self, out: Path) -> bool:
        """Whether the pair's part exists."""
        return self.part(out).is_file()

    def perform(
        self, loaded: Measurer, data: DataFolder, out: Path, progress: Callable[[int], None]
    ) -> None:
        """Measure the pair and write its part."""
        loaded.write(self.name, self.part(out), progress)

    def part(self, out: Path) -> Path:
        """The path of the pair's part in a folder."""
        return out / f"{self.name}.safetensors"
