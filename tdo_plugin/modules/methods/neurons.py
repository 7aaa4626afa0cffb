"""The neurons of a stack of layers: single outputs of its projections.

A neuron is one output of a query, key, value or output projection of any attention, or of either
projection of a layer's feed-forward network (Xie et al., 2021). Adaptation modules, which all
languages share (Qu et al., section 4.1), and norms have no neurons. Hooks and gates act before the
ReLU of the inner projection, as in the authors' code; for a mask of 0 and 1 the order is the same.
"""

from torch import nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.layer import FeedForward
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.methods.neuron_gate import NeuronOutput


def projections(stack: nn.Module) -> dict[str, Linear]:
    """The projections that have neurons, by name in the stack, in the order of the stack."""
    return {
        f"{name}.{kind}": part
        for name, parent in stack.named_modules()
        if "layers." in name and isinstance(parent, (MultiheadAttention, FeedForward))
        for kind, part in parent.named_children()
        if isinstance(part, Linear)
    }


def rectified_projections(stack: nn.Module) -> frozenset[str]:
    """The names of :func:`projections` followed by a ReLU."""
    return frozenset(
        f"{name}.inner"
        for name, parent in stack.named_modules()
        if "layers." in name and isinstance(parent, FeedForward)
    )


def neuron_outputs(stack: nn.Module) -> dict[str, nn.Module]:
    """Attach a module for hooks to the output of each of :func:`projections`, and return them.

    Their input is (N, width) or (rows, length, width).
    """
    outputs: dict[str, nn.Module] = {}
    for name, part in projections(stack).items():
        if part.output is None:
            part.output = NeuronOutput()
        outputs[name] = part.output
    return outputs
