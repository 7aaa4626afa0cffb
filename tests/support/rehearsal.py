"""A GPU that is not there: tensors that say they are on one, with their values on the CPU.

Operations run on the CPU, so that losses and searches have real values. But an operation may only
combine tensors that it could combine on a GPU, and every operation for which the host waits for the
device is recorded with the place in this package or fairseq that caused it.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import fairseq
import torch
from torch import Tensor
from torch.nn.attention import bias
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    return_and_correct_aliasing,
)
from torch.utils._pytree import tree_leaves, tree_map

import tdo_plugin

DEVICE = torch.device("cuda", 0)
aten = torch.ops.aten
# operations whose result, or its size, the host must know, as their kernels for GPUs are written
READS = {
    aten._local_scalar_dense: "item",
    aten.equal: "equal",
    aten.nonzero: "nonzero",
    aten.masked_select: "masked_select",
    aten.bincount: "bincount",
    aten.multinomial: "multinomial",
    aten._unique: "unique",
    aten._unique2: "unique",
    aten.unique_dim: "unique",
    aten.unique_consecutive: "unique",
    aten.isin: "isin",  # of about 30 elements or more, which it makes unique
}
INDEXING = (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_)
COPIES = (aten._to_copy, aten.copy_)
# an index on the CPU is copied to the device; other tensors there must be numbers
MIXING = (*INDEXING, *COPIES)
# folders whose code has places, and what their paths are relative to; torch's own code has none
PACKAGE = Path(tdo_plugin.__file__).parent
FAIRSEQ = Path(fairseq.__file__).parent
ROOTS = {f"{path}/": path.parent for path in (PACKAGE, PACKAGE.parent / "tdo_compat", FAIRSEQ)}


class Place(NamedTuple):
    """Where the host waits: the file, the function, and what for."""

    file: str
    function: str
    operation: str


class DeviceTensor(torch.Tensor):
    """A tensor that says it is on a GPU; ``values`` are on the CPU.

    torch's C++ code finds it on the device ``meta``, which every build of torch has.
    """

    @staticmethod
    def __new__(cls, values: Tensor) -> DeviceTensor:
        like = {"strides": values.stride(), "storage_offset": values.storage_offset()}
        return torch.Tensor._make_wrapper_subclass(
            cls, values.shape, **like, dtype=values.dtype, device="meta"
        )

    def __init__(self, values: Tensor) -> None:
        self.on_cpu = values

    __torch_function__ = torch._C._disabled_torch_function_impl
    device = property(lambda self: DEVICE)
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)
    is_meta = property(lambda self: False)

    def __getitem__(self, index: Any) -> Tensor:
        return super().__getitem__(_without_lists(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(value, Tensor):
            value = torch.scalar_tensor(value, dtype=self.dtype)  # on the CPU, as for a GPU
        super().__setitem__(_without_lists(index), value)

    def __repr__(self) -> str:
        return f"DeviceTensor({self.on_cpu})"

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def numpy(self) -> None:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def new_tensor(self, data: Any, dtype: Any = None) -> Tensor:
        return torch.tensor(data, dtype=dtype or self.dtype, device=DEVICE)

    def new(self, *size: int) -> Tensor:
        return self.new_empty(size)

    def resize_(self, *size: int) -> DeviceTensor:
        self.data = DeviceTensor(self.on_cpu.resize_(*size))
        return self

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError(f"{func} of a tensor on the device, outside of a rehearsal")


@dataclass(eq=False)
class Rehearsal(TorchDispatchMode):
    """Inside, ``cuda:0`` is a device."""

    # how often the host waited for the device
    waits: Counter[Place] = field(default_factory=Counter)
    lines: dict[Place, int] = field(default_factory=dict)  # a line of each place, for messages
    largest: int = 0  # elements of the largest tensor made on the device

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        assert all(tensor.device.type != "meta" for tensor in tensors), f"{func} at {_place()}"
        there = any(isinstance(tensor, DeviceTensor) for tensor in tensors)
        makes_there = there
        if kwargs.get("device") is not None:
            makes_there = torch.device(kwargs["device"]).type != "cpu"
            kwargs["device"] = torch.device("cpu")
        if func is aten._fused_sdp_choice.default:
            return 0  # SDPBackend.MATH, of operations that every device has
        if there or makes_there:
            self._check(func, args, kwargs, tensors, makes_there)
        result = func(*tree_map(_on_cpu, args), **tree_map(_on_cpu, kwargs))
        if makes_there:
            result = tree_map(self._on_device, result)
        return return_and_correct_aliasing(func, args, kwargs, result)

    def _check(self, func: Any, args: Any, kwargs: Any, tensors: Any, makes_there: bool) -> None:
        """Record that the host waits; raise RuntimeError where a GPU would."""
        packet = func.overloadpacket
        if packet in COPIES:
            into = packet is aten.copy_
            source = isinstance(args[1 if into else 0], DeviceTensor)
            target = isinstance(args[0], DeviceTensor) if into else makes_there
            goes_on = kwargs.get("non_blocking") or (into and args[2:] == (True,))
            if source != target and (source or not goes_on):
                self._wait("to host" if source else "to device")
        elif packet in READS:
            self._wait(READS[packet])
        elif func is aten.repeat_interleave.Tensor and kwargs.get("output_size") is None:
            self._wait("repeat_interleave")
        elif packet in INDEXING:
            self._check_index(packet, args)
        mixed = [tensor for tensor in tensors if tensor.dim() and not tensor.is_cuda]
        if makes_there and mixed and packet not in MIXING:
            shapes = ", ".join(str(tuple(tensor.shape)) for tensor in mixed)
            raise RuntimeError(f"{func} on cuda:0, a tensor {shapes} on the cpu, at {_place()}")

    def _check_index(self, packet: Any, args: Any) -> None:
        indices = [index for index in args[1] if index is not None]
        if not args[0].is_cuda:
            raise RuntimeError(f"{packet} on the cpu by an index on cuda:0, at {_place()}")
        if not all(index.is_cuda for index in indices):
            self._wait("to device")
        # torch fills by a mask, without a wait, if the value is a number
        number = packet is not aten.index and args[2].numel() == 1 and not args[2].is_cuda
        if not number and any(index.dtype in (torch.bool, torch.uint8) for index in indices):
            self._wait("index by mask")

    def _wait(self, operation: str) -> None:
        file, function, line = _place()
        self.waits[Place(file, function, operation)] += 1
        self.lines[Place(file, function, operation)] = line

    def _on_device(self, result: Any) -> Any:
        if not isinstance(result, Tensor):
            return result
        self.largest = max(self.largest, result.numel())
        return DeviceTensor(result)


def _on_cpu(leaf: Any) -> Any:
    return leaf.on_cpu if isinstance(leaf, DeviceTensor) else leaf


def _without_lists(index: Any) -> Any:
    """An index without lists, of which torch would make tensors on ``meta``."""
    if isinstance(index, tuple):
        return tuple(map(_without_lists, index))
    return torch.tensor(index) if isinstance(index, list) else index


def _place() -> tuple[str, str, int]:
    """File, function and line of the innermost running code of this package or fairseq."""
    frame = sys._getframe(1)
    while frame is not None:
        path, function = frame.f_code.co_filename, frame.f_code.co_name
        for root, parent in ROOTS.items():
            # a comprehension is a function in some versions of Python only
            if path.startswith(root) and not function.startswith("<"):
                return str(Path(path).relative_to(parent)), function, frame.f_lineno
        frame = frame.f_back
    return "tests", "", 0


def _indexed(word: Any) -> Any:
    """A device with its number, which torch would look up in the driver."""
    is_device = type(word) in (int, str, torch.device)  # the text of a tensor takes long
    return DEVICE if is_device and str(word) in ("0", "cuda") else word


@contextlib.contextmanager
def rehearsal() -> Iterator[Rehearsal]:
    """Inside, ``cuda:0`` is a device, and torch's questions to the driver are answered."""
    to, tensor_of, lower_right = torch.Tensor.to, torch.tensor, bias.causal_lower_right

    def to_device(tensor: Tensor, *words: Any, **options: Any) -> Tensor:
        options = {key: _indexed(word) for key, word in options.items()}
        return to(tensor, *map(_indexed, words), **options)

    def cuda(tensor: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
        return to(tensor, DEVICE, non_blocking=non_blocking)

    def tensor(data: Any, *, device: Any = None, **options: Any) -> Tensor:
        """torch copies the data in a way that no mode sees."""
        made = tensor_of(data, **options)
        return made if device is None else made.to(device)

    def causal_lower_right(*size: int) -> Any:
        with _disable_current_modes():  # it makes a subclass of an empty tensor
            return lower_right(*size)

    properties = SimpleNamespace(name="none", major=8, minor=0, total_memory=0)
    none = ("_lazy_init", "empty_cache", "reset_peak_memory_stats", "set_rng_state")
    answers: dict[str, Any] = {
        **{**dict.fromkeys(none), "is_available": True, "current_device": 0},
        **{"get_device_capability": (8, 0), "get_device_properties": properties},
        **{"max_memory_allocated": 0, "get_rng_state": torch.empty(0)},
    }
    with contextlib.ExitStack() as stack:
        for owner, name, function in (
            (torch, "tensor", tensor),
            (torch.Tensor, "to", to_device),
            (torch.Tensor, "cuda", cuda),
            (bias, "causal_lower_right", causal_lower_right),
            (bias, "_raise_kernel_warnings", lambda *_: None),
            # a torch that was built for GPUs would look for the stream of optimizers
            (torch.accelerator, "current_accelerator", _answering(None)),
            *((torch.cuda, name, _answering(answer)) for name, answer in answers.items()),
        ):
            stack.enter_context(mock.patch.object(owner, name, function))
        yield stack.enter_context(Rehearsal())


def _answering(answer: Any) -> Any:
    return lambda *_, **__: answer
