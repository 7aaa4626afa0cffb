"""Positions computed with the parameters of their own language, or pair of languages.

Shapes: N positions, (...) those of an input, K rows of parameters, D and E widths.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def with_own_rows(
    x: Tensor, rows: Tensor, compute: Callable[..., Tensor], *parameters: Tensor
) -> Tensor:
    """``compute`` of each position and of the rows that its parameters have for it: (..., E).

    Positions of one row are brought together, so that each row takes part in one product; rows
    without a position are not computed, and have zero gradients.

    Args:
        x: (..., D).
        rows: from 0, broadcastable to (...).
        compute: of positions (n, D) and one row of each of the parameters: (n, E).
        parameters: each (K, ...).
    """
    places = rows.expand(x.shape[:-1]).flatten()
    sizes = torch.bincount(places, minlength=len(parameters[0])).tolist()
    present = [row for row, size in enumerate(sizes) if size] or [0]
    # unbound at once, so that there is one gradient for all rows
    own = list(zip(*(one.unbind() for one in parameters), strict=True))
    if len(present) == 1:
        whole: Tensor = compute(x.flatten(0, -2), *own[present[0]])
        return whole.view(*x.shape[:-1], whole.size(-1))
    order = places.argsort(stable=True)
    groups = x.flatten(0, -2).index_select(0, order).split([sizes[row] for row in present])
    made = [compute(group, *own[row]) for row, group in zip(present, groups, strict=True)]
    whole = torch.cat(made).index_select(0, order.argsort())
    return whole.view(*x.shape[:-1], whole.size(-1))
