"""A model whose parameters are divided over workers, with torch's ``fully_shard``.

Each worker holds a part of every parameter, of its gradient and of the optimizer's state. A unit of
the model (a layer) is gathered before it computes and freed afterwards. Files are as without
sharding: states are gathered when they are written, and divided when they are read.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

HALF = (torch.float16, torch.bfloat16)


class ShardedModel(nn.Module):
    """A model whose parameters are divided over workers, with the methods of fairseq's wrappers.

    The optimizer steps :attr:`shards`, ordinary parameters that hold this worker's part. So any
    optimizer that treats each number by itself can be used, and its state is divided, too.

    In half precision a shard is in single precision; units compute in half precision and sum
    gradients over workers in single precision.

    Args:
        model: has ``sharded_units``, a function that returns the modules to gather one by one.
        group: the workers.
        device: to compute on.
        keeps_whole: whether parameters stay gathered from the forward to the backward pass, and
            gradients are summed over workers only after the last batch of an update.
    """

    def __init__(self, model: Any, group: Any, device: torch.device, keeps_whole: bool) -> None:
        super().__init__()
        self.module = model
        self.keeps_whole = keeps_whole
        self._group = group
        self._syncs = True
        self._shard(DeviceMesh.from_group(group, device.type))
        self._whole = [part for part in model.parameters() if part.requires_grad]
        self.shards = tuple(nn.Parameter(part.detach().to_local()) for part in self._whole)

    def _shard(self, mesh: DeviceMesh) -> None:
        units = self.module.sharded_units()
        dtype = next(self.module.parameters()).dtype
        policy = MixedPrecisionPolicy(cast_forward_inputs=False)
        if dtype in HALF:
            policy = MixedPrecisionPolicy(dtype, torch.float32, cast_forward_inputs=False)
            for parameter in self.module.parameters():
                parameter.data = parameter.data.float()
        # such as captured tensors; nobody changes them in place
        warnings.filterwarnings("ignore", r"FSDP2-wrapped module .* returned a view tensor")
        for unit in units:
            again = not self.keeps_whole
            fully_shard(unit, mesh=mesh, reshard_after_forward=again, mp_policy=policy)
        # embeddings are used at both ends of a pass
        fully_shard(self.module, mesh=mesh, reshard_after_forward=False, mp_policy=policy)
        self._units = [self.module, *units]
        # torch's own order would include the layers of a search, which only some workers may have
        for unit, before in zip(self._units, [units[-1], *self._units], strict=False):
            unit.set_modules_to_backward_prefetch([before])
        # before anything but the whole model runs, which would take itself for the root
        self.module._get_fsdp_state()._lazy_init()
        for part in self.module.modules():
            part.register_load_state_dict_pre_hook(_divide)
        self.module.whole_weights = self.whole_weights

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.module, name)

    def forward(self, *args: Any, **options: Any) -> Any:
        """The model's."""
        return self.module(*args, **options)

    def parameters(self, recurse: bool = True) -> Iterator[nn.Parameter]:
        """This worker's shards, which the optimizer steps."""
        return iter(self.shards)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context manager: if ``keeps_whole``, accumulate gradients without communication."""
        before = self._syncs
        self._set_syncs(before and not self.keeps_whole)
        try:
            yield
        finally:
            self._set_syncs(before)

    def _set_syncs(self, syncs: bool) -> None:
        self._syncs = syncs
        self.module.set_requires_gradient_sync(syncs)
        self.module.set_reshard_after_backward(syncs)

    @contextmanager
    def whole_weights(self) -> Iterator[None]:
        """Context manager for a search: all parameters are gathered, nothing inside communicates.

        All workers must enter it together.
        """
        for unit in self._units:
            unit.set_reshard_after_forward(False, recurse=False)
            unit.unshard()
        try:
            yield
        finally:
            for unit in self._units:
                again = not (self.keeps_whole or unit is self.module)
                unit.set_reshard_after_forward(again, recurse=False)
                unit.reshard()

    def all_reduce_grads(self) -> None:
        """Hand the gradients, which the backward pass has summed, to the shards."""
        for whole, shard in zip(self._whole, self.shards, strict=True):
            # as with other wrappers, an unused parameter has a gradient, too
            shard.grad = torch.zeros_like(shard) if whole.grad is None else whole.grad.to_local()
            whole.grad = None

    def whole_norm(self, norm: Tensor) -> Tensor:
        """The norm of whole gradients, given that of this worker's parts."""
        square = norm**2
        torch.distributed.all_reduce(square, group=self._group)
        return square**0.5

    # --- checkpoints -----------------------------------------------------------------------------

    def state_dict(self, *args: Any, **options: Any) -> Any:
        """The whole model's, on the first worker; nothing on others. All must call it."""
        state = {
            name: self._gathered(value) if isinstance(value, DTensor) else value
            for name, value in self.module.state_dict(*args, **options).items()
        }
        return state if self._is_first else {}

    def load_state_dict(self, *args: Any, **options: Any) -> Any:
        """As the model's; every worker keeps its part of the whole."""
        return self.module.load_state_dict(*args, **options)

    def whole_state(self, state: dict[str, Any], optimizer: Any) -> dict[str, Any]:
        """The state of an optimizer of :attr:`shards` as without sharding; all must call it."""

        places = self._places(optimizer)

        def whole(place: int, value: Any) -> Any:
            shard, parameter = places[place]
            if not _is_like(value, shard):
                return value
            divided = DTensor.from_local(
                value,
                parameter.device_mesh,
                parameter.placements,
                run_check=False,
                shape=parameter.shape,
                stride=parameter.stride(),
            )
            return self._gathered(divided)

        return _changed(state, whole)

    def own_state(self, state: dict[str, Any], optimizer: Any) -> dict[str, Any]:
        """This worker's part of an optimizer's state."""

        parameters = [parameter for _, parameter in self._places(optimizer)]

        def own(place: int, value: Any) -> Any:
            parameter = parameters[place]
            return _part(value, parameter).to_local() if _is_like(value, parameter) else value

        return _changed(split_state(state, [part.shape for part in parameters]), own)

    def _places(self, optimizer: Any) -> list[tuple[Tensor, DTensor]]:
        """Shard and whole parameter at each place of an optimizer's state."""
        whole = {id(shard): part for shard, part in zip(self.shards, self._whole, strict=True)}
        return [(shard, whole[id(shard)]) for shard in optimizer.params]

    @property
    def _is_first(self) -> bool:
        return torch.distributed.get_rank(self._group) == 0

    def _gathered(self, value: DTensor) -> Tensor | None:
        """The whole tensor in main memory, on the first worker."""
        whole = value.full_tensor().detach()
        return whole.cpu() if self._is_first else None


def _divide(module: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Before a module loads whole tensors: replace them by this worker's parts."""
    for name, parameter in module.named_parameters(prefix.removesuffix("."), recurse=False):
        value = state.get(name)
        if isinstance(parameter, DTensor) and value is not None and _is_like(value, parameter):
            state[name] = _part(value, parameter)


def _part(value: Tensor, like: DTensor) -> DTensor:
    """A whole tensor, which every worker has, divided as a parameter."""
    value = value.to(like.device)
    return distribute_tensor(value, like.device_mesh, like.placements, src_data_rank=None)


def _is_like(value: Any, parameter: Tensor) -> bool:
    return isinstance(value, Tensor) and value.shape == parameter.shape


def _changed(state: dict[str, Any], change: Callable[[int, Any], Any]) -> dict[str, Any]:
    """An optimizer's state with each parameter's values changed, in the same order everywhere."""
    parts = {
        place: {name: change(place, values[name]) for name in sorted(values)}
        for place, values in sorted(state["state"].items())
    }
    return {**state, "state": parts}


# --- fp16 on a GPU: fairseq's state is of one flat parameter -----------------------------------


def joined_state(state: dict[str, Any]) -> dict[str, Any]:
    """An optimizer's whole state as if there were one parameter, all of them concatenated.

    Args:
        state: of several parameters; values without dimensions are the same for all.
    """
    parts = [state["state"][place] for place in sorted(state["state"])]

    def joined(name: str) -> Any:
        values = [part[name] for part in parts]
        if not isinstance(values[0], Tensor) or not values[0].dim():
            return values[0]
        return torch.cat([value.flatten() for value in values])

    flat = {0: {name: joined(name) for name in parts[0]}} if parts else {}
    (group,) = state["param_groups"]
    return {**state, "state": flat, "param_groups": [{**group, "params": [0]}]}


def split_state(state: dict[str, Any], shapes: list[torch.Size]) -> dict[str, Any]:
    """The reverse of :func:`joined_state`; a state of several parameters stays as it is.

    Args:
        state: whole.
        shapes: of the parameters.
    """
    sizes = [shape.numel() for shape in shapes]
    if len(sizes) == 1 or list(state["state"]) != [0] or len(state["param_groups"]) > 1:
        return state
    parts: list[dict[str, Any]] = [{} for _ in shapes]
    for name, value in state["state"][0].items():
        flat = isinstance(value, Tensor) and value.shape == (sum(sizes),)
        values = value.split(sizes) if flat else [value] * len(sizes)
        for part, one, shape in zip(parts, values, shapes, strict=True):
            part[name] = one.view(shape) if flat else one
    (group,) = state["param_groups"]
    groups = [{**group, "params": list(range(len(parts)))}]
    return {**state, "state": dict(enumerate(parts)), "param_groups": groups}
