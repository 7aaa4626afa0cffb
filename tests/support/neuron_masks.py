"""Files of masks, made by hand."""

import torch

from tdo_plugin.modules.methods.neurons import projections
from tdo_plugin.neuron_files import Masks, digest_of


def masks_of(core, pairs, state=None, share=0.8, seed=1):
    """Masks at random; of each module the last neuron is nobody's, the first ones are general.

    Args:
        core: the model that they fit.
        pairs: such as en-de.
        state: parameters of the checkpoint that they say they are of.
        share: of the neurons that a pair uses.
        seed: of the draw.
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
    masks_of(core, pairs, state, **how).write(path)
    return path
