"""`tdo bench --roofline`: where an update spends its time, beside the limit of matrix products.

torch's profiler times each operation. Matrix products and attention have their rate in FLOPs per
second relative to the machine's peak: the fastest product of two large matrices in any of torch's
libraries. The other groups have few operations; their limit is the memory.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

WARM, UPDATES = 6, 2  # updates before the profiled ones, and these
SIDE, TRIALS = 2048, 10  # of the product that shows the peak

# inputs of each product: left matrix, right matrix, and whether the right one is transposed
PRODUCTS = {
    "aten::mm": (0, 1, False),
    "aten::bmm": (0, 1, False),
    "aten::addmm": (1, 2, False),
    "aten::addmm_": (1, 2, False),
    "mkldnn::_linear_pointwise": (0, 1, True),
}
ATTENTION, NORM, SOFTMAX = "scaled_dot_product", "layer_norm", "softmax"
LOSS = ("_LinearCrossEntropy", "_LinearCrossEntropyBackward")
OPTIMISER = ("optimizer", "clip-grads", "multiply-grads")  # fairseq's names of parts of an update
BACKWARD = "backward"
DRAWS = ("aten::random_", "aten::bernoulli_", "aten::ge")
COPIES = tuple(
    f"aten::{name}"
    for name in ("copy_", "cat", "fill_", "index", "index_select", "embedding_dense_backward")
)
GROUPS = (
    *("products, forward", "products, backward", "products with the vocabulary"),
    *("attention", "loss", "norms", "draws of dropout", "optimiser", "copies", "the rest"),
)


@dataclass(frozen=True)
class Part:
    """One group of operations of a system's update.

    Attributes:
        seconds: per update.
        share: of the update.
        flops: per second; 0 for groups other than products and attention.
        peak: FLOPs per second of the machine.
    """

    system: str
    group: str
    seconds: float
    share: float
    flops: float
    peak: float


def head() -> str:
    """The table's header, two lines of Markdown."""
    return (
        "| system | operations | seconds | share | GFLOP/s | of the peak |\n"
        "|---|---|---|---|---|---|"
    )


def line(part: Part) -> str:
    """A line of the table."""
    rate = f"{part.flops / 1e9:.0f}", f"{part.flops / part.peak:.2f}"
    numbers = f"{part.seconds:.3f}", f"{part.share:.2f}", *(rate if part.flops else ("", ""))
    cells = part.system, part.group, *numbers
    return f"| {' | '.join(cells)} |"


def parts(system: str, run: Callable[[int], object], vocabulary: int) -> list[Part]:
    """The groups of an update, in the order of `GROUPS`.

    Args:
        system: its name.
        run: makes an update, given its number.
        vocabulary: products with so many rows or columns are those of the loss.
    """
    from torch.profiler import ProfilerActivity, profile

    for number in range(WARM):
        run(number)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiled:
        for number in range(WARM, WARM + UPDATES):
            run(number)
    seconds: Counter[str] = Counter()
    flops: Counter[str] = Counter()
    for event in profiled.events():
        group = group_of(event, vocabulary)
        seconds[group] += event.self_cpu_time_total / 1e6 / UPDATES
        flops[group] += operations(event.name, event.input_shapes) / UPDATES
    total, limit = seconds.total(), peak()
    rates = {group: flops[group] / seconds[group] if flops[group] else 0.0 for group in GROUPS}
    return [
        Part(system, group, seconds[group], seconds[group] / total, rate, limit)
        for group, rate in rates.items()
    ]


def group_of(event: Any, vocabulary: int) -> str:
    """The group of an operation; `event` is the profiler's."""
    name, around = event.name, set(_around(event))
    if name in PRODUCTS:
        sizes = (size for shape in event.input_shapes for size in shape)
        if not around.isdisjoint(LOSS) or any(size >= vocabulary for size in sizes):
            return "products with the vocabulary"
        return "products, backward" if BACKWARD in around else "products, forward"
    groups = {
        "attention": ATTENTION in name,
        "optimiser": not around.isdisjoint(OPTIMISER),
        "loss": not around.isdisjoint(LOSS) or SOFTMAX in name,
        "norms": NORM in name,
        "draws of dropout": name in DRAWS,
        "copies": name in COPIES,
    }
    return next((group for group, applies in groups.items() if applies), "the rest")


def _around(event: Any) -> Iterator[str]:
    """The names of an operation and of all around it."""
    while event is not None:
        yield event.name
        event = event.cpu_parent


def operations(name: str, shapes: Sequence[Sequence[int]]) -> float:
    """FLOPs of a product or an attention, two for each multiplication; 0 for others."""
    if name in PRODUCTS:
        left, right, transposed = PRODUCTS[name]
        return 2.0 * math.prod(shapes[left]) * shapes[right][-2 if transposed else -1]
    if name.startswith("aten::_") and ATTENTION in name:
        # two products in the forward pass; in the backward pass, which computes the weights again
        # from the inputs after the first, five
        backward = name.endswith("backward")
        query, key = shapes[backward : backward + 2]
        return (10.0 if backward else 4.0) * math.prod(query) * key[-2]
    return 0.0


def peak() -> float:
    """FLOPs per second of the fastest product of two large matrices."""
    import torch

    left, right = torch.randn(2, SIDE, SIDE)
    libraries = [lambda: left @ right]
    if torch.backends.mkldnn.is_available():
        onednn = torch.ops.mkldnn._linear_pointwise.default
        libraries.append(lambda: onednn(left, right, None, "none", [], ""))
    return 2 * SIDE**3 / min(_seconds(product) for product in libraries for _ in range(TRIALS))


def _seconds(product: Callable[[], object]) -> float:
    begin = time.perf_counter()
    product()
    return time.perf_counter() - begin
