"""Files of importance and masks as a model of some size would have them."""

import torch
from support.built_models import ENCODER_DECODER, build
from torch import Tensor

from tdo_plugin.modules.methods.neurons import projections
from tdo_plugin.neuron_files import Importance, Masks, digest_of


def names_of(layers: int) -> dict[str, str]:
    """The modules of an encoder-decoder, and their sides."""
    sizes = {"encoder_layers": layers, "decoder_layers": layers}
    names = projections(build(**{**ENCODER_DECODER, **sizes}).stack)
    return {name: "source" if name.startswith("encoder") else "target" for name in names}


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
        codes = sorted({code for pair in pairs for code in pair.split("-")})
        per_language = {code: draw(count) for code in codes}
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


def drawn_masks(core, pairs, state=None, share=0.8, seed=1):
    """Masks by chance that fit a model, and say they are of a checkpoint with these parameters.

    A pair uses a share of the neurons. Of each module the last is nobody's, the first are general.
    """
    draws = torch.Generator().manual_seed(seed)
    modules, general = {}, {}
    for name, part in projections(core.stack).items():
        width = part.out_features
        general[name] = torch.arange(width) < width // 2
        used = torch.rand(len(pairs), width, generator=draws) < share
        modules[name] = used | general[name]
        modules[name][:, -1] = False
    return Masks(tuple(pairs), modules, general, digest_of(state or {}), {"made": "by hand"})


def write_masks(path, core, pairs, state=None, **how):
    """Such masks in a file; returns its path."""
    drawn_masks(core, pairs, state, **how).write(path)
    return path
