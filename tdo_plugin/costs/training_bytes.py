"""Bytes that a worker of a training holds, by part, from sizes of tensors."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from tdo_plugin.costs.training_hours import described_model
from tdo_plugin.launch.training_config import Config
from tdo_plugin.runtime.memory import GIB, gib, machine_memory

if TYPE_CHECKING:
    from tdo_plugin.modules.spec import ModelSpec

SINGLE, HALF = 4, 2  # bytes of a number
ADAM = 2 * SINGLE  # its two averages
MASK, STATISTIC = 1, SINGLE
ROWS, NORMALISED = 1024, 256  # of the blocks of linear_cross_entropy on a GPU
# A process on a CPU, measured (docs/guide/performance.md#memory-of-a-training): Python with torch,
# fairseq and this package, and what the C library holds per byte that tensors need at most.
PROGRAM, RESERVE = 0.6 * GIB, 1.2


@dataclass(frozen=True)
class Parameters:
    """Numbers of parameters that are trained: all, outside of layers, of the largest layer."""

    total: int
    root: int
    layer: int


@dataclass(frozen=True)
class Activations:
    """Bytes of what a batch keeps for the backward pass.

    Attributes:
        kept: of all layers.
        inputs: with ``--checkpoint-activations``, until the backward pass.
        again: with it, of the layer that the backward pass computes again.
        vocabulary: blocks of logits, and the gradient of the output matrix.
    """

    kept: float
    inputs: float
    again: float
    vocabulary: float


@dataclass(frozen=True)
class WorkerBytes:
    """Bytes of one worker, by part.

    Attributes:
        weights: those that are stored (sharded: in single precision, this worker's part).
        gathered: weights of other workers, in the precision of the computation.
        gradients: those that the optimizer reads, and the copy that the backward pass writes.
        master: weights in single precision beside half-precision ones.
        optimizer: Adam's averages.
        buffers: of communication.
    """

    weights: float
    gathered: float
    gradients: float
    master: float
    optimizer: float
    buffers: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return float(sum(asdict(self).values()))


def whole_bytes(parameters: Parameters, workers: int, half: bool) -> WorkerBytes:
    """Bytes of a worker that holds the whole model (``legacy_ddp``, ``pytorch_ddp``)."""
    count, number = parameters.total, HALF if half else SINGLE
    return WorkerBytes(
        weights=number * count,
        gathered=0,
        gradients=number * count + half * SINGLE * count,
        master=half * SINGLE * count,
        optimizer=ADAM * count,
        buffers=number * count * (workers > 1),
    )


def sharded_bytes(
    parameters: Parameters, workers: int, half: bool, keeps: bool, accumulates: bool
) -> WorkerBytes:
    """Bytes of a worker with ``--ddp-backend fully_sharded``, at the fullest moment of an update.

    Args:
        parameters: numbers of them.
        workers: at least two.
        half: whether the computation is in half precision.
        keeps: with ``--no-reshard-after-forward`` everything is gathered once, otherwise a layer is
            gathered when it computes, and the next one before that.
        accumulates: whether an update has several batches.
    """
    number = HALF if half else SINGLE
    share = parameters.total / workers
    units = parameters.root + 2 * parameters.layer
    gathered = parameters.total if keeps else units
    written = SINGLE * parameters.total if keeps and accumulates else number * units
    largest = max(parameters.root, parameters.layer)
    return WorkerBytes(
        weights=SINGLE * share,
        gathered=number * gathered,
        gradients=SINGLE * share + written,
        master=0,
        optimizer=ADAM * share,
        buffers=(number + SINGLE) * largest,
    )


def count_trained(spec: ModelSpec, source_vocabulary: int, target_vocabulary: int) -> Parameters:
    """The numbers of trained parameters of a model."""
    from tdo_plugin.analysis.cost import outline

    model = outline(spec, source_vocabulary, target_vocabulary)
    layers = [
        sum(part.numel() for part in layer.parameters() if part.requires_grad)
        for layer in model.stack.every_layer
    ]
    total = sum(part.numel() for part in model.parameters() if part.requires_grad)
    return Parameters(total, total - sum(layers), max(layers))


def activations(
    spec: ModelSpec, tokens: int, vocabulary: int, half: bool, instrucl_layer: int | None = None
) -> Activations:
    """Bytes that a batch keeps, with fused attention and the recomputation of this package.

    Counted are layers, adaptation modules and the output projection, not adapters and TPDM.

    Args:
        spec: of the model.
        tokens: of the batch on each side, with padding.
        vocabulary: rows of the output matrix.
        half: whether the computation is in half precision.
        instrucl_layer: the layer up to which InstruCL's identity sources are computed.
    """
    number = HALF if half else SINGLE
    width = spec.model_dim
    dropped = 2 * MASK * width if spec.dropout else 0
    # of a token, without its FFN: input, query, key, value, output of the attention, the sum of
    # input and attention; norms' statistics and the attention's normaliser
    attended = 6 * width * number + dropped + (4 + spec.num_heads) * STATISTIC

    def layer(inner: int) -> float:
        return attended + inner * number + (inner * MASK if spec.activation_dropout else 0)

    entry = spec.entry_layer
    source = [layer(spec.stage1_ffn_dim)] * entry
    source += [layer(spec.stage2_ffn_dim)] * (spec.source_layers - entry)
    target_layers = spec.decoder_layers or spec.num_layers - spec.target_layer
    # query, output and sum of the cross-attention; its keys and values are of source tokens
    crossed = spec.topology == "encoder-decoder"
    further = 3 * width * number + spec.num_heads * STATISTIC + dropped / 2
    target = layer(spec.stage2_ffn_dim) + crossed * further
    read = crossed * 2 * width * number * target_layers
    adapted = 2 * (spec.adaptation_dim + 2 * width) * number * (spec.adaptation_dim > 0)
    identity = sum(source[:instrucl_layer]) if instrucl_layer else 0.0
    passes = len(source) + target_layers + (instrucl_layer or 0)
    largest = max(*source, target) * (1 if crossed else 2)
    logits = ROWS * vocabulary * number + NORMALISED * vocabulary * SINGLE
    return Activations(
        kept=tokens * (sum(source) + target_layers * target + read + identity + adapted),
        inputs=tokens * (passes * width * number + read + adapted),
        again=tokens * largest,
        vocabulary=logits + vocabulary * width * (SINGLE + half * HALF),
    )


def process_bytes(tensors: float) -> float:
    """Bytes that a training process on a CPU holds, with all that it needs beside its tensors.

    Args:
        tensors: bytes of its tensors at the fullest moment of an update.
    """
    return PROGRAM + RESERVE * tensors


def tensor_bytes(config: Config, args: argparse.Namespace) -> float:
    """Bytes of a training's tensors at the fullest moment of an update; `args` as in `report`."""
    from tdo_plugin.modules.spec import ModelSpec

    model, terms = described_model(config, args)
    spec, vocabulary = ModelSpec(**model["model"]), model["target_vocabulary"]
    half, tokens = config.precision != "fp32", config.integer("--max-tokens", 4000)
    layer = model["instrucl_layer"] if "instrucl" in terms else None
    whole = whole_bytes(count_trained(spec, model["source_vocabulary"], vocabulary), 1, half)
    batch = activations(spec, tokens, vocabulary, half, layer)
    return whole.total + batch.vocabulary + batch.kept


def report(name: str, config: Config, args: argparse.Namespace, workers: int) -> Iterator[str]:
    """Lines of a table: bytes of one of some workers, by part, without and with sharding.

    Args:
        name: the training's name.
        config: the training's config.
        args: the assumptions, from `assumptions`.
        workers: their number.

    Raises:
        UserError: the config names no architecture of this package.
    """
    from tdo_plugin.modules.spec import ModelSpec

    model, terms = described_model(config, args)
    spec = ModelSpec(**model["model"])
    vocabularies = model["source_vocabulary"], model["target_vocabulary"]
    half = config.precision != "fp32"
    tokens = config.integer("--max-tokens", 4000)
    accumulates = config.integer("--update-freq", 1) > 1
    parameters = count_trained(spec, *vocabularies)
    layer = model["instrucl_layer"] if "instrucl" in terms else None
    batch = activations(spec, tokens, vocabularies[1], half, layer)
    ways = {"whole": whole_bytes(parameters, workers, half)}
    if workers > 1:
        for title, keeps in (("sharded", False), ("gathered once", True)):
            ways[title] = sharded_bytes(parameters, workers, half, keeps, accumulates)
    yield (
        f"{name}: {parameters.total / 1e6:,.1f}M trained parameters, {config.precision}, "
        f"batches of {tokens:,} + {tokens:,} tokens; GiB of one of {workers} workers"
    )
    yield _row("", *ways)
    parts = [asdict(way) for way in ways.values()]
    for part in parts[0]:
        yield _row(part, *(each[part] for each in parts))
    yield _row("output projection", *[batch.vocabulary] * len(ways))
    for title, kept in (("", batch.kept), (", checkpointed", batch.inputs + batch.again)):
        yield _row(f"activations{title}", *[kept] * len(ways))
        sums = [way.total + batch.vocabulary + kept for way in ways.values()]
        yield _row(f"total{title}", *sums)
    if workers == 1:
        held = process_bytes(tensor_bytes(replace(config, precision="fp32"), args))
        yield _row("process on a CPU, in fp32", held)


def note(workers: int) -> str:
    """What the bytes are, in words."""
    sharded = (
        "; sharded: --ddp-backend fully_sharded; gathered once: --no-reshard-after-forward as well"
    )
    return (
        "These are sizes of tensors, not measurements; a process also holds the program and the "
        f"allocator's reserve{sharded * (workers > 1)}\nThis machine has {gib(machine_memory())}"
    )


def _row(title: str, *values: float | str) -> str:
    cells = (
        f"{value:>14}" if isinstance(value, str) else f"{value / GIB:14.2f}" for value in values
    )
    return f"  {title:<31}{''.join(cells)}".rstrip()
