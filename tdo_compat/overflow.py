"""Names the module whose numbers overflow when a training diverges or its loss scale sinks.

``training_patches`` installs it in fairseq's trainer. Nothing is observed in an ordinary update:
only in the batch that fairseq repeats before it gives up, and in updates whose loss scale is below
``LOW``, until one of them overflows.
"""

import contextlib
import functools
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tdo_compat.shutdown import going_on

LARGEST = torch.finfo(torch.float16).max
LOW = 1.0  # loss scale that shrinks gradients instead of enlarging them; fairseq begins with 128
LEARNING = "a lower `--lr`, more `--warmup-updates` or `--clip-norm 1`"
ADVICE = (
    "`--precision bf16` (of fairseq-train: `--bf16`) has the range of fp32 and no loss scale; "
    f"otherwise {LEARNING}, and for a new training of a deep model `--tdo-norm pre` or "
    "`--tdo-init depth-scaled`"
)


class Diverged(FloatingPointError):
    """Gradients are not finite at any loss scale. Shown as one line, without a traceback."""

    one_line = True


class Extremes:
    """Context manager: the largest absolute values of a forward and backward pass, in order.

    The largest values stay on the device until :meth:`finding` reads them.

    Args:
        model: whose modules' outputs, their gradients, and gradients of parameters are observed.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._outputs: list[tuple[str, Tensor]] = []
        self._gradients: list[tuple[str, Tensor]] = []

    def __enter__(self) -> "Extremes":
        with contextlib.ExitStack() as hooks:
            for name, module in self._model.named_modules():
                if name:
                    hooks.callback(module.register_forward_hook(partial(self._see, name)).remove)
            for name, parameter in self._model.named_parameters():
                if parameter.requires_grad:
                    keep = partial(self._keep_gradient, name)
                    hooks.callback(parameter.register_post_accumulate_grad_hook(keep).remove)
            self._hooks = hooks.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._hooks.close()

    def finding(self) -> str:
        """The first output or gradient that is not finite, or else the largest."""
        kinds = {"output": _read(self._outputs), "gradient": _read(self._gradients)}
        for kind, values in kinds.items():
            for name, value in values:
                if not value < float("inf"):
                    return f"the {kind} of {name} is the first that is not finite"
        ranked = [(value, kind, name) for kind, values in kinds.items() for name, value in values]
        if not ranked:
            return "no output or gradient was seen"
        value, kind, name = max(ranked)
        return f"all is finite, and the largest is the {kind} of {name}, {value:,.4g}"

    def _see(self, name: str, module: nn.Module, inputs: Any, output: Any) -> None:
        for tensor in _tensors(output):
            self._outputs.append((name, _largest(tensor)))
            if tensor.requires_grad:  # it may be a parameter, which outlives the pass
                self._hooks.callback(tensor.register_hook(partial(self._keep, name)).remove)

    def _keep(self, name: str, gradient: Tensor) -> None:
        self._gradients.append((name, _largest(gradient)))

    def _keep_gradient(self, name: str, parameter: Tensor) -> None:
        gradient: Any = parameter.grad
        if hasattr(gradient, "to_local"):  # sharded: this worker's part, which may be empty
            gradient = gradient.to_local()
        if gradient.numel():
            self._keep(name, gradient)


def _largest(tensor: Tensor) -> Tensor:
    return tensor.detach().abs().max().float()  # nan if any value is


def _read(values: Sequence[tuple[str, Tensor]]) -> list[tuple[str, float]]:
    """The values as numbers, with a single synchronisation."""
    if not values:
        return []
    numbers: list[float] = torch.stack([value for _, value in values]).tolist()
    return [(name, number) for (name, _), number in zip(values, numbers, strict=True)]


def _tensors(output: Any) -> Iterator[Tensor]:
    """The tensors of a module's output that hold numbers."""
    if isinstance(output, Tensor):
        if output.is_floating_point() and output.numel():
            yield output
    elif isinstance(output, dict):
        yield from _tensors([*output.values()])
    elif isinstance(output, list | tuple):
        for part in output:
            yield from _tensors(part)


class _Finding(FloatingPointError):
    """Raised by :class:`Repeated`, with its finding as the message."""


class Repeated(Extremes):
    """For fairseq's ``NanDetector``, in which the trainer repeats a batch before it gives up."""

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        if error[0] is None:
            raise _Finding(self.finding())


def name_layers(module: Any) -> None:
    """Make the trainer name the layer when gradients overflow too often, or are not finite.

    Args:
        module: fairseq's, with the trainer.
    """
    trainer, train_step = module.Trainer, module.Trainer.train_step

    @functools.wraps(train_step)
    def train(self: Any, *args: Any, **options: Any) -> Any:
        sinking = _scale(self) < LOW and not self._has_named_layer
        extremes = Extremes(self.get_model()) if sinking else None
        try:
            with extremes or contextlib.nullcontext():
                result = train_step(self, *args, **options)
        except _Finding as finding:
            raise _ended(self, finding) from finding.__context__
        if extremes is not None and result is None:  # the update was skipped
            self._has_named_layer = True
            logging.getLogger(module.__name__).warning(
                f"the loss scale sank to {_scale(self):g}: {_in_half(extremes.finding())}; {ADVICE}"
            )
        return result

    trainer._has_named_layer = False
    trainer.train_step, module.NanDetector = train, Repeated


def _scale(trainer: Any) -> float:
    """The loss scale; infinite without one."""
    scaler = getattr(trainer.optimizer, "scaler", None)
    return float(getattr(scaler, "loss_scale", "inf"))


def _in_half(finding: object) -> str:
    return f"in fp16, whose largest number is {LARGEST:,.0f}, {finding}"


def _ended(trainer: Any, finding: _Finding) -> BaseException:
    """The error to end a training with."""
    original = finding.__context__
    if isinstance(original, FloatingPointError) and "inconsistent" in str(original):
        return original  # workers have different gradients, whatever their size
    update, common = trainer.get_num_updates() + 1, trainer.cfg.common
    resume = going_on(trainer.cfg, trainer.checkpoint_suffix)
    if common.fp16 or common.amp:
        least = f"`--min-loss-scale` {common.min_loss_scale:g}"
        what = f"update {update} overflows down to {least}: {_in_half(finding)}; {ADVICE}"
    else:
        what = f"gradients of update {update} are not finite: {finding}; try {LEARNING}"
    return Diverged(f"{what}; {resume}")
