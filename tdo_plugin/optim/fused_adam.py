"""``--optimizer adam`` with torch's fused step: fairseq's numbers, state and checkpoints.

fairseq's Adam passes over each parameter some ten times and allocates three temporaries of its
size. torch's fused kernel reads and writes each number once, and on a GPU handles many parameters
at a time. ``--use-old-adam`` returns to fairseq's own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from fairseq import optim
from fairseq.optim import adam
from torch import Tensor, nn

SINGLE_OR_DOUBLE = torch.float32, torch.float64
DEVICES = "cpu", "cuda"
MOMENTS = "exp_avg", "exp_avg_sq"


class FusedAdam(adam.Adam):  # type: ignore[misc]
    """fairseq's Adam, computed by torch's fused kernel where it is the same.

    ``amsgrad``, half precision (``--memory-efficient-fp16``) and tensors with gaps take fairseq's
    step.
    """

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """See fairseq's; the same numbers up to rounding."""
        loss = None if closure is None else closure()
        trained = [
            (group, [parameter for parameter in group["params"] if parameter.grad is not None])
            for group in self.param_groups
        ]
        if all(self._fits(group, parameters) for group, parameters in trained):
            for group, parameters in trained:
                self._step(group, parameters)
        else:
            super().step()
        return loss

    def _fits(self, group: dict[str, Any], parameters: list[nn.Parameter]) -> bool:
        return not group.get("amsgrad") and all(
            parameter.device.type in DEVICES
            and _is_contiguous(parameter, parameter.grad, *self._moments(parameter))
            and all(moment.shape == parameter.shape for moment in self._moments(parameter))
            for parameter in parameters
        )

    def _moments(self, parameter: nn.Parameter) -> list[Tensor]:
        """Those of earlier steps; a checkpoint may hold them in any order in memory."""
        state = self.state.get(parameter, {})
        return [state[name] for name in MOMENTS if name in state]

    @torch.no_grad()
    def _step(self, group: dict[str, Any], parameters: list[nn.Parameter]) -> None:
        """A step of one group; the kernel takes parameters that have made equally many."""
        together = defaultdict(list)
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                state["step"] = 0
                state.update({name: torch.zeros_like(parameter) for name in MOMENTS})
            state["step"] += 1
            together[state["step"], parameter.device, parameter.dtype].append(parameter)
        beta1, beta2 = group["betas"]
        for (step, device, _), equal in together.items():
            # fairseq adds epsilon before the bias correction of the second moment, torch after it
            eps = group["eps"] / math.sqrt(1 - beta2**step)
            torch._fused_adamw_(
                [*equal],
                [parameter.grad for parameter in equal if parameter.grad is not None],
                [self.state[parameter]["exp_avg"] for parameter in equal],
                [self.state[parameter]["exp_avg_sq"] for parameter in equal],
                [],
                [torch.full((), float(step), device=device)] * len(equal),
                lr=group["lr"],
                beta1=beta1,
                beta2=beta2,
                weight_decay=group["weight_decay"],
                eps=eps,
                amsgrad=False,
                maximize=False,
            )


def _is_contiguous(*tensors: Any) -> bool:
    """Whether tensors are dense, without gaps, and of one type: single or double precision."""
    return all(
        tensor.dtype in SINGLE_OR_DOUBLE
        and tensor.dtype == tensors[0].dtype
        and tensor.layout is torch.strided
        and tensor.is_contiguous()
        for tensor in tensors
    )


class FairseqAdam(adam.FairseqAdam):  # type: ignore[misc]
    """fairseq's wrapper; also scales and clips all gradients together.

    It has the same name, since a checkpoint names the class of its optimizer.
    """

    optimizer: Any

    def __init__(self, cfg: Any, params: Any) -> None:
        super().__init__(cfg, params)
        kept = getattr(cfg, "use_old_adam", False) or getattr(cfg, "tpu", False)
        if type(self.optimizer) is adam.Adam and not kept:
            self.optimizer = FusedAdam(self.param_groups, **self.optimizer_config)

    def multiply_grads(self, c: Any) -> None:
        """Multiply all gradients by a number or a tensor with one element."""
        gradients = self._gradients()
        if not _together(gradients):
            super().multiply_grads(c)
            return
        factor = c.to(gradients[0].device).reshape(()) if isinstance(c, Tensor) else c
        torch._foreach_mul_(gradients, factor)

    def clip_grad_norm(
        self, max_norm: float, aggregate_norm_fn: Callable[[Tensor], Tensor] | None = None
    ) -> Tensor:
        """Scale the gradients down to ``max_norm`` (0: no limit); returns their norm before."""
        gradients = self._gradients()
        apart = any(hasattr(parameter, "expert") for parameter in self.params)
        if apart or not _together(gradients):
            norm: Tensor = super().clip_grad_norm(max_norm, aggregate_norm_fn)
            return norm
        norm = nn.utils.get_total_norm(gradients)
        if aggregate_norm_fn is not None:
            norm = aggregate_norm_fn(norm)
        if max_norm > 0:
            nn.utils.clip_grads_with_norm_(list(self.params), float(max_norm), norm)
        return norm

    def _gradients(self) -> list[Tensor]:
        return [parameter.grad for parameter in self.params if parameter.grad is not None]


def _together(gradients: list[Tensor]) -> bool:
    """Whether one call handles all gradients."""
    devices = {gradient.device for gradient in gradients}
    return len(devices) == 1 and _is_contiguous(*gradients)


optim.OPTIMIZER_REGISTRY["adam"] = FairseqAdam
