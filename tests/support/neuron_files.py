"""Files of importance and masks as a model of some size would have them."""

from __future__ import annotations

import torch
from torch import Tensor

from tdo_plugin.neuron_files import Importance, Masks

ATTENTION = ("query", "key", "value", "out")


def names_of(layers: int) -> dict[str, str]:
    """The modules of an encoder-decoder, and their sides."""
    found = {}
    for stack, side in (("encoder_layers", "source"), ("decoder_layers", "target")):
        for layer in range(layers):
            parts = ["attention"] + ["cross_attention"] * (side == "target")
            inside = [f"{part}.{one}" for part in parts for one in ATTENTION]
            for one in [*inside, "feed_forward.inner", "feed_forward.outer"]:
                found[f"{stack}.{layer}.{one}"] = side
    return found


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
        own = {code: draw(count) for code in sorted({c for p in pairs for c in p.split("-")})}
        rows = [
            common + own[pair.split("-")[side == "target"]] + 0.3 * draw(count) for pair in pairs
        ]
        modules[name] = torch.stack(rows)
    return Importance("taylor", pairs, modules, sides, "c" * 64)


def masks_of(modules: dict[str, list[str]], pairs: list[str]) -> Masks:
    """Masks from a letter a neuron: `G` is general, else the digits of a hex number say which
    pairs have it, the first pair being 1, the second 2, the third 4."""
    general, rows = {}, {}
    for name, neurons in modules.items():
        codes = [None if one == "G" else int(one, 16) for one in neurons]
        general[name] = torch.tensor([code is None for code in codes])
        rows[name] = torch.tensor(
            [[code is None or bool(code >> row & 1) for code in codes] for row in range(len(pairs))]
        )
    return Masks(pairs, rows, general, "c" * 64)
