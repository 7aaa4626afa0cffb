"""Files of importance and masks as a model of some size would have them."""

from __future__ import annotations

import torch
from torch import Tensor

from tdo_plugin.neuron_files import Importance, Masks

ATTENTION = ("query", "key", "value", "out")


def names_of(layers: int) -> dict[str, str]:
    """The modules of an encoder-decoder, and their sides."""
    names = {}
    for stack, side in (("encoder_layers", "source"), ("decoder_layers", "target")):
        for layer in range(layers):
            parts = ["attention"] + ["cross_attention"] * (side == "target")
            inside = [f"{part}.{projection}" for part in parts for projection in ATTENTION]
            for module in [*inside, "feed_forward.inner", "feed_forward.outer"]:
                names[f"{stack}.{layer}.{module}"] = side
    return names


def importance_of(pairs: list[str], layers: int, width: int, inner: int, seed: int = 0):
    """Importance by chance, in which pairs of a target language are somewhat alike."""
    generator = torch.Generator().manual_seed(seed)

    def draw(count: int) -> Tensor:
        return -torch.rand(count, generator=generator, dtype=torch.float64).log()

    modules = {}
    sides = names_of(layers)
    for name, side in sides.items():
        count = inner if name.endswith("inner") else width
        common = draw(count)
        per_language = {
            code: draw(count) for code in sorted({c for p in pairs for c in p.split("-")})
        }
        rows = [
            common + per_language[pair.split("-")[side == "target"]] + 0.3 * draw(count)
            for pair in pairs
        ]
        modules[name] = torch.stack(rows)
    return Importance("taylor", pairs, modules, sides, "c" * 64)


def masks_of(modules: dict[str, list[str]], pairs: list[str]) -> Masks:
    """Masks from a letter a neuron: `G` is general, else the digits of a hex number say which
    pairs have it, the first pair being 1, the second 2, the third 4."""
    general, rows = {}, {}
    for name, neurons in modules.items():
        codes = [None if letter == "G" else int(letter, 16) for letter in neurons]
        general[name] = torch.tensor([code is None for code in codes])
        rows[name] = torch.tensor(
            [[code is None or bool(code >> row & 1) for code in codes] for row in range(len(pairs))]
        )
    return Masks(pairs, rows, general, "c" * 64)
