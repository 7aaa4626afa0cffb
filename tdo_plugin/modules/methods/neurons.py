"""The neurons of a stack of layers: single outputs of its projections.

A neuron is one output of a query, key, value or output projection of any attention, or of either
projection of a layer's feed-forward network (Xie et al., 2021). Adaptation modules, which all
languages share (Qu et al., section 4.1), and norms have none. Hooks and gates stand before the
ReLU of the inner projection, as in the authors' code; a mask of 0 and 1 is the same behind it.
"""

from torch import nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.layer import FeedForward
from tdo_plugin.modules.linear import Linear
from tdo_plugin.modules.methods.neuron_gate import NeuronOutput


def projections(stack: nn.Module) -> dict[str, Linear]:
    """The projections whose outputs are neurons, by name in the stack, in its order."""
    return {
        f"{name}.{kind}": part
        for name, parent in stack.named_modules()
        if "layers." in name and isinstance(parent, (MultiheadAttention, FeedForward))
        for kind, part in parent.named_children()
        if isinstance(part, Linear)
    }


def rectified_projections(stack: nn.Module) -> frozenset[str]:
    """Those of :func:`projections` that a ReLU follows."""
    return frozenset(
        f"{name}.inner"
        for name, parent in stack.named_modules()
        if "layers." in name and isinstance(parent, FeedForward)
    )


def neuron_outputs(stack: nn.Module) -> dict[str, nn.Module]:
    """For each of :func:`projections` a module that its output passes from now on, for hooks.

    It gets (N, width) of a packed batch, else (rows, length, width).
    """
    outputs: dict[str, nn.Module] = {}
    for name, part in projections(stack).items():
        if part.output is None:
            part.output = NeuronOutput()
        outputs[name] = part.output
    return outputs
