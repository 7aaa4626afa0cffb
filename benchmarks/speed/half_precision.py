"""`tdo bench half-precision`: a model's numbers in fp16 and bf16 against fp32, layer by layer.

With random weights the model has the sizes of `--size` and `--options`; otherwise it is a
checkpoint with the losses of its training.
"""

from __future__ import annotations

import json
import math
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from speed import hardware
from speed.batches import by_sentences
from speed.jobs import Job
from speed.plan import OURS, TABLE
from speed.text import embedded, own
from tdo_plugin.analysis.half_precision.rounding import (
    LARGEST,
    OUTSIDE,
    SCALES,
    LayerNumbers,
    Rounding,
    compare,
)
from tdo_plugin.errors import UserError
from tdo_plugin.metrics.silence import quiet_libraries
from tdo_plugin.runtime.files import write_text

VOCABULARY = 8000  # at most, of random weights
SENTENCES = 8  # in the batch of random weights; of a checkpoint in each direction
DIRECTIONS = 8  # at most, of a checkpoint
LONGEST = 200  # tokens
HEAD = (
    *("layer", "residual stream", "FFN", "scores", "gradient"),
    *(f"< 6.1e-5 at scale {scale:,.0f}" for scale in SCALES[1:]),
    *("output fp16", "output bf16", "gradients fp16", "gradients bf16"),
)


@dataclass(frozen=True)
class Subject:
    """What is measured.

    Attributes:
        name: of the weights.
        text: of the sentences.
        model: in fp32.
        loss: the summed training loss of the batches.
    """

    name: str
    text: str
    model: nn.Module
    loss: Callable[[nn.Module], Tensor]


def half_precision(args: Namespace, extra: Sequence[str]) -> int:
    """Run the command.

    Args:
        args: its options.
        extra: options of fairseq-train for random weights.

    Raises:
        UserError: an invalid option, the checkpoint and the data do not match, or the loss is not
            finite.
    """
    device = hardware.device(args.device)
    with tempfile.TemporaryDirectory(prefix="tdo-bench-") as folder, quiet_libraries():
        subject = _trained(args, device) if args.path else _random(args, extra, device, folder)
        numbers = compare(subject.model.to(device), subject.loss)
    if not math.isfinite(numbers.loss):
        option = "--path" if args.path else "--options"
        raise UserError(f"`{option}` must give a finite loss in fp32; it is {numbers.loss}")
    facts = {
        **hardware.facts(device, "fp16 and bf16 against fp32"),
        **{"weights": subject.name, "text": subject.text, "options": args.options},
    }
    print(*(f"{name} {value}" for name, value in facts.items() if value), sep=", ")
    print(*table(numbers), "", *summary(numbers), sep="\n")
    if args.json:
        rows = {"facts": facts, **asdict(numbers)}
        write_text(args.json, [json.dumps(rows, indent=1)])
        print(args.json.resolve())
    return 0


def _random(args: Namespace, extra: Sequence[str], device: str, folder: str) -> Subject:
    """Weights as training initialises them."""
    from speed.running import Runner

    setting = TABLE[args.size]
    setting = replace(setting, vocabulary=min(VOCABULARY, setting.vocabulary))
    text = own(args.data) if args.data else embedded(setting.languages)
    batches = by_sentences(text, setting.sentence_length, SENTENCES)[:1]
    job = Job(
        "training", OURS, setting, text.directions, batches, device, "fp32", extra=tuple(extra)
    )
    runner = Runner(job, Path(folder))
    criterion = runner.task.build_criterion(runner.cfg.criterion)
    return Subject("random", text.name, runner.model, _loss(criterion, runner.samples))


def _trained(args: Namespace, device: str) -> Subject:
    """A checkpoint's weights, and its training's losses on validation text."""
    from tdo_plugin.checkpoints import read
    from tdo_plugin.data.databin import read_data_folder
    from tdo_plugin.evaluation.decoding.loading import has_set
    from tdo_plugin.evaluation.inspected_model import Cut, EvalModel, Sampling

    data = read_data_folder(args.data)
    evaluated = EvalModel(args.path, data, torch.device(device))
    ways = [way for way in data.directions if has_set(data, "valid", way)][:DIRECTIONS]
    if not ways:
        raise UserError(f"`--data` must have a validation set; {data.root} has none")
    sampling = Sampling(SENTENCES, LONGEST, seed=1)
    batches = (
        batch
        for way in ways
        for batch in evaluated.samples(way, Cut("valid"), sampling, SENTENCES * LONGEST)
    )
    state = read(args.path, "--path")
    criterion, history = evaluated.criterion(state), state.get("optimizer_history") or [{}]
    model = evaluated.model.requires_grad_(True)
    name = f"{args.path}, {', '.join(getattr(criterion, 'terms', ())) or 'no loss terms'}"
    updates = int(history[-1].get("num_updates", 0))
    return Subject(name, str(data.root), model, _loss(criterion, [*batches], updates))


def _loss(
    criterion: Any, samples: Sequence[dict[str, Any]], update: int = 0
) -> Callable[[nn.Module], Tensor]:
    """The sum over batches of what training minimises.

    Args:
        criterion: of the training.
        samples: its batches.
        update: the number of earlier updates, on which weights of loss terms depend.
    """
    criterion.eval()
    # not the first batch of an update, in which TPDM would train its generator
    in_update = getattr(criterion, "in_update", lambda **details: nullcontext())

    def loss(model: nn.Module) -> Tensor:
        torch.manual_seed(1)  # the gates of GTPDM are drawn
        with in_update(lr=0.0, number=update, first=False):
            total: Tensor = sum(criterion(model, sample)[0] for sample in samples)
        return total

    return loss


def table(numbers: Rounding) -> Iterator[str]:
    """A Markdown table of the layers."""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{'---|' * len(HEAD)}"
    for layer in numbers.layers:
        yield f"| {' | '.join(_cells(layer))} |"


def _cells(layer: LayerNumbers) -> Iterator[str]:
    yield layer.layer
    inside = layer.layer != OUTSIDE
    yield from map(_number, layer.largest.values()) if inside else ("", "", "")
    yield _number(layer.gradient)
    yield from (f"{100 * layer.subnormal[scale]:.1f} %" for scale in SCALES[1:])
    yield from map(_share, layer.state_errors.values()) if inside else ("", "")
    yield from map(_share, layer.gradient_errors.values())


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _share(value: float) -> str:
    return f"{100 * value:.2g} %" if math.isfinite(value) else "overflow"


def summary(numbers: Rounding) -> Iterator[str]:
    """Where 65,504 is nearest, and how far the loss is off."""
    value, place, layer = max(
        (value, place, layer.layer)
        for layer in numbers.layers
        for place, value in layer.largest.items()
    )
    yield (
        f"largest activation: {_number(value)}, {place} of layer {layer}, {LARGEST / value:,.0f} "
        f"times below {LARGEST:,.0f}"
    )
    steepest = max(numbers.layers, key=lambda layer: layer.gradient)
    where = steepest.layer if steepest.layer == OUTSIDE else f"layer {steepest.layer}"
    highest = 2.0 ** math.floor(math.log2(LARGEST / steepest.gradient))
    yield (
        f"largest gradient: {_number(steepest.gradient)}, {where}; the highest loss scale without "
        f"overflow there is {highest:,.0f}"
    )
    for name, error in numbers.loss_errors.items():
        yield f"loss in {name}: off by {_share(error)}, at loss scale {numbers.scales[name]:g}"
