"""The effect of depth-scaled initialisation on a deep model: variances and gradients.

    python benchmarks/deep_start.py [--layers N ...] [--model-dim D] [--batch B] [--every N]

Randomly initialised encoder-decoders with --layers layers per side, on random tokens. For each kind
of sublayer, the table has the variance of its output f(x) in layer 1 and in every N-th layer, and
the variance of the residual stream x + f(x); for each side, it has the norm of the loss gradient
with respect to a layer's parameters, divided by that of the side's last layer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from tdo_plugin.modules.builder import Builder
from tdo_plugin.modules.layer import Residual
from tdo_plugin.modules.source_state import SourceRequest
from tdo_plugin.modules.spec import ModelSpec
from tdo_plugin.modules.translation_model import TranslationModel

PAD, EOS, WORDS = 1, 2, 200
SIDES = {"encoder": "encoder_layers", "decoder": "decoder_layers"}


@dataclass
class Start:
    """Measurements by layer, from the first.

    Attributes:
        outputs: output variances for each kind of sublayer.
        streams: variances of the residual stream after each sublayer.
        gradients: gradient norms for each side, relative to its last layer.
    """

    outputs: dict[str, list[float]] = field(default_factory=dict)
    streams: dict[str, list[float]] = field(default_factory=dict)
    gradients: dict[str, list[float]] = field(default_factory=dict)


def model(layers: int, seed: int = 1, words: int = WORDS, **numbers: object) -> TranslationModel:
    """A randomly initialised encoder-decoder with `layers` layers per side."""
    torch.manual_seed(seed)
    sizes = {"topology": "encoder-decoder", "encoder_layers": layers, "decoder_layers": layers}
    return Builder(ModelSpec(**sizes, **numbers), PAD).build(words, words)  # type: ignore[arg-type]


def sizes(model_dim: int) -> dict[str, int]:
    """Sizes with the proportions of a Transformer."""
    inner = 4 * model_dim
    return {
        "model_dim": model_dim,
        "num_heads": 4,
        "stage1_ffn_dim": inner,
        "stage2_ffn_dim": inner,
    }


def pairs(sentences: int, length: int = 12, words: int = WORDS) -> tuple[Tensor, Tensor, Tensor]:
    """Source, previous output and target (B, L) with random tokens."""
    chosen = torch.Generator().manual_seed(0)
    source, target = torch.randint(4, words, (2, sentences, length), generator=chosen)
    return source, shifted(target), target


def shifted(target: Tensor) -> Tensor:
    """The previous output of a target (B, T)."""
    return torch.cat([torch.full((len(target), 1), EOS), target[:, :-1]], 1)


def loss(model: TranslationModel, source: Tensor, previous: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy per token."""
    _, features = model([SourceRequest(source)], previous)
    return model.cross_entropy(features, target, 0.0)[0] / target.numel()


def measure(model: TranslationModel, batch: tuple[Tensor, Tensor, Tensor]) -> Start:
    """One forward and backward pass."""
    start = Start()
    for side, layers in SIDES.items():
        for layer in getattr(model.stack, layers):
            for name, part in layer.named_children():
                if isinstance(part, Residual):
                    kind = f"{side} {name.removesuffix('_residual')}"
                    part.after = _noted(start, kind, part.after)  # type: ignore[method-assign]
    loss(model, *batch).backward()
    for side, layers in SIDES.items():
        norms = [
            sum(float(parameter.grad.square().sum()) for parameter in layer.parameters()) ** 0.5
            for layer in getattr(model.stack, layers)
        ]
        start.gradients[side] = [norm / norms[-1] for norm in norms]
    return start


def _noted(start: Start, kind: str, after: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def noting(x: Tensor, output: Tensor, languages: Tensor | None = None) -> Tensor:
        start.outputs.setdefault(kind, []).append(float(output.detach().var()))
        start.streams.setdefault(kind, []).append(float((x + output).detach().var()))
        return after(x, output, languages)

    return noting


def table(layers: int, numbers: dict[str, object], sentences: int, every: int) -> Iterator[str]:
    """The lines of one model's table."""
    start = measure(model(layers, **numbers), pairs(sentences))
    shown = [0, *range(every - 1, layers, every)]
    yield f"{'layer':36}" + "".join(f"{place + 1:>18}" for place in shown)
    for kind, variances in start.outputs.items():
        cells = [f"{variances[place]:.4f} of {start.streams[kind][place]:.3f}" for place in shown]
        yield f"{kind:36}" + "".join(f"{cell:>18}" for cell in cells)
    for side, norms in start.gradients.items():
        cells = [f"{norms[place]:.3f}" for place in shown]
        yield f"{side + ' gradient, relative to last':36}" + "".join(
            f"{cell:>18}" for cell in cells
        )


def main() -> None:
    """Print the tables of all norms, depths, attentions and initialisations."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, nargs="+", default=[6, 12, 24])
    parser.add_argument("--model-dim", type=int, default=128)
    parser.add_argument("--batch", type=int, default=16, help="sentences of 12 tokens")
    parser.add_argument("--every", type=int, default=6)
    options = parser.parse_args()
    kinds = product(
        ("post", "pre"),
        options.layers,
        ("separate", "merged"),
        ("standard", "depth-scaled", "depth-scaled-quarter"),
    )
    for norm, layers, attention, init in kinds:
        numbers = {"norm": norm, "decoder_attention": attention, "init": (init,)}
        print(f"\n{norm}-norm, {layers} layers per side, {attention} attention, {init}")
        lines = table(layers, {**sizes(options.model_dim), **numbers}, options.batch, options.every)
        print("\n".join(lines))


if __name__ == "__main__":
    main()
