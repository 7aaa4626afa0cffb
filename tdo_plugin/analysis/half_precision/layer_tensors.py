"""Shows the tensors of each layer that half precision stores, as they are computed.

Shapes: B sentences, H heads, T queries, L keys, E head width.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from tdo_plugin.modules.attention import MultiheadAttention
from tdo_plugin.modules.layer import FeedForward, Residual
from tdo_plugin.modules.stack import DecoderOnlyStack, EncoderDecoderStack

STATE = "state"  # a layer's output
RESIDUAL = "residual stream"  # the input of a norm
INNER = "FFN"  # inside the feed-forward network, before the ReLU
SCORES = "scores"  # of attention, before the softmax; of hidden keys too
GRADIENT = "gradient"  # with respect to the state
See = Callable[[str, str, Tensor], None]


def layers_of(stack: nn.Module) -> Mapping[str, nn.Module]:
    """The layers of a model's stack by name, such as `encoder 1`, or `1` of a single stack."""
    if isinstance(stack, EncoderDecoderStack):
        sides = {"encoder ": stack.encoder_layers, "decoder ": stack.decoder_layers}
    else:
        assert isinstance(stack, DecoderOnlyStack)
        sides = {"": stack.layers}
    return {
        f"{side}{number}": layer
        for side, layers in sides.items()
        for number, layer in enumerate(layers, start=1)
    }


@contextmanager
def observed(stack: nn.Module, see: See) -> Iterator[None]:
    """Context manager: call ``see(layer, place, tensor)`` for each tensor when it is computed.

    The numbers that the model computes do not change.

    Args:
        stack: the model's layers.
        see: receives the layer's name, the tensor's place, and the tensor, detached.
    """
    with ExitStack() as undo:
        for name, layer in layers_of(stack).items():
            for part in layer.modules():
                for handle in _hooks(part, partial(see, name)):
                    undo.callback(handle.remove)
                if isinstance(part, MultiheadAttention):
                    undo.enter_context(part.observed(partial(_see_scores, partial(see, name))))
            residual = layer.feed_forward_residual
            assert isinstance(residual, Residual)
            undo.enter_context(_observed_output(residual, partial(see, name)))
        yield


def _hooks(part: nn.Module, see: Callable[[str, Tensor], None]) -> Iterator[Any]:
    """Hooks of a layer's part; what a hook returns would replace the tensor."""

    def see_inner(module: nn.Module, inputs: Any, output: Tensor) -> None:
        see(INNER, output.detach())

    def see_residual(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        see(RESIDUAL, inputs[0].detach())

    if isinstance(part, FeedForward):
        yield part.inner.register_forward_hook(see_inner)
    elif isinstance(part, Residual):
        yield part.norm.register_forward_pre_hook(see_residual)


def _see_scores(
    see: Callable[[str, Tensor], None], query: Tensor, key: Tensor, mask: Tensor | None
) -> None:
    """Scores (B, H, T, L), in single precision."""
    scaled = query.detach().float() * query.size(-1) ** -0.5
    see(SCORES, scaled @ key.detach().float().transpose(-1, -2))


@contextmanager
def _observed_output(residual: Residual, see: Callable[[str, Tensor], None]) -> Iterator[None]:
    """A layer's last residual connection is no module that is called, but a method."""
    after = residual.after

    def see_gradient(gradient: Tensor) -> None:
        see(GRADIENT, gradient)

    def observing(*args: Any) -> Tensor:
        state = after(*args)
        see(STATE, state.detach())
        if state.requires_grad:
            state.register_hook(see_gradient)
        return state

    residual.after = observing  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        del residual.after
