"""The neurons of a stack of layers: single outputs of its projections.

A neuron is one output of a query, key, value or output projection of any attention, or of either
projection of a layer's feed-forward network, before the ReLU (Xie et al., 2021). Adaptation
modules, which all languages share (Qu et al., section 4.1), and norms have none.
"""

from torch import nn

from tdo_plugin.modules.attention import Projection
from tdo_plugin.modules.feed_forward import FeedForward
from tdo_plugin.modules.linear import Linear


def projections(stack: nn.Module) -> dict[str, Linear]:
    """The projections whose outputs are neurons, by name in the stack, in its order."""
    return {
        name: part
        for name, part in stack.named_modules()
        if "layers." in name and isinstance(part, Linear) and _point(stack, name, part) is not None
    }


def points(stack: nn.Module) -> dict[str, nn.Module]:
    """For each of :func:`projections` the named point that its output passes, for hooks.

    The output is (N, width) of all streams that pass a layer side by side, else (rows, length,
    width).
    """
    output_points = {}
    for name, part in projections(stack).items():
        point = _point(stack, name, part)
        assert point is not None
        output_points[name] = point
    return output_points


def _point(stack: nn.Module, name: str, part: Linear) -> nn.Module | None:
    if isinstance(part, Projection):
        return part.output
    above, _, last = name.rpartition(".")
    parent = stack.get_submodule(above)
    if isinstance(parent, FeedForward):
        point: nn.Module = getattr(parent, f"{last}_output")
        return point
    return None
