"""A generator trained against the model by a separate optimizer (TPDM, section 3.6).

It is not part of the model, which is decoded without it, nor of the criterion, whose parameters
fairseq would give to the model's optimizer. It is always in single precision.

Shapes: B sentences, S source, D model width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from fairseq.distributed import utils as distributed
from fairseq.utils import move_to_cpu
from torch import Tensor, nn
from torch.func import functional_call

from tdo_plugin.criterions.loss_terms import Update
from tdo_plugin.errors import UserError

BETAS = (0.9, 0.98)


class Adversary:
    """A generator and its Adam optimizer.

    Args:
        generator: takes embeddings (B, S, D) and padding (B, S), returns predictions (B, S, D);
            identical on all workers.
        lr: its learning rate; 0: the model's, as scheduled.
        anew: whether it may start untrained if a checkpoint has none that fits.
    """

    def __init__(self, generator: nn.Module, lr: float = 0.0, anew: bool = False) -> None:
        self.generator = generator
        self.lr = lr
        self.anew = anew
        self.optimizer = torch.optim.Adam(generator.parameters(), betas=BETAS, fused=True)

    def guess(self, embeddings: Tensor, padding: Tensor) -> Tensor:
        """The generator's predictions; gradients reach the embeddings, not the generator."""
        self._join(embeddings)
        weights = {name: weight.detach() for name, weight in self.generator.named_parameters()}
        guessed: Tensor = functional_call(self.generator, weights, (embeddings, padding))
        return guessed

    def step(
        self,
        embeddings: Tensor,
        padding: Tensor,
        loss: Callable[[Tensor], Tensor],
        update: Update,
    ) -> None:
        """One step of the generator on the mean loss over all workers' tokens.

        Workers synchronise here, each with one batch; the dummy batches of workers without data do
        not count. If a gradient is not finite, no worker steps.

        Args:
            embeddings: (B, S, D), without gradient.
            padding: boolean (B, S), true at padding.
            loss: of predictions, a sum over tokens.
            update: of the model, to which this step belongs.
        """
        self._join(embeddings)
        parameters = list(self.generator.parameters())
        with torch.enable_grad():
            total = loss(self.generator(embeddings, padding))
        gradients = torch.autograd.grad(total, parameters)
        tokens = (~padding).sum().to(total)[None]
        summed = torch.cat([*(gradient.flatten() for gradient in gradients), tokens])
        if update.dummy:
            summed.zero_()
        if distributed.get_data_parallel_world_size() > 1:
            distributed.all_reduce(summed, group=distributed.get_data_parallel_group())
        if not (summed.isfinite().all() & (summed[-1] > 0)):  # a single device synchronisation
            return
        mean = (summed[:-1] / summed[-1]).split([parameter.numel() for parameter in parameters])
        for parameter, gradient in zip(parameters, mean, strict=True):
            parameter.grad = gradient.view_as(parameter)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr or update.lr
        self.optimizer.step()
        self.optimizer.zero_grad()

    def state_dict(self) -> dict[str, Any]:
        """The weights and the optimizer's state, for a checkpoint."""
        return {
            "generator": self.generator.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any] | None, reset_optimizer: bool = False) -> None:
        """Restore the state from a checkpoint.

        Args:
            state: None if the checkpoint has no generator.
            reset_optimizer: do not restore the optimizer.

        Raises:
            UserError: the checkpoint has no generator, or one of another size, and an untrained
                one is not allowed.
        """
        shapes = {name: tensor.shape for name, tensor in self.generator.state_dict().items()}
        stored = {} if state is None else state["generator"]
        if state is None or shapes != {name: tensor.shape for name, tensor in stored.items()}:
            if self.anew:
                return
            raise UserError(
                "`--tpdm-new-generator` must be set to resume from a checkpoint without a "
                f"generator{' of this size' if stored else ''}; it is not"
            )
        self.generator.load_state_dict(stored)
        if not reset_optimizer:
            # step counts stay on the CPU, where Adam reads them
            self.optimizer.load_state_dict(move_to_cpu(state["optimizer"]))

    def _join(self, embeddings: Tensor) -> None:
        """Move the generator to the device and type of the embeddings."""
        parameter = next(self.generator.parameters())
        if (parameter.device, parameter.dtype) != (embeddings.device, embeddings.dtype):
            self.generator.to(embeddings)
            # also moves the optimizer's moments
            self.optimizer.load_state_dict(self.optimizer.state_dict())
