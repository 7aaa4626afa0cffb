"""Tokens computed with the parameters of their own language, or pair of languages.

Shapes: N tokens, (...) those of an input, K rows of parameters, D and E widths.
"""

from collections.abc import Callable
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn


class PerLanguage(nn.Module):
    """A module all of whose parameters (K, ...) have a row for each language, or pair of them.

    `tdo extend`, fine-tuning from a model without it, and checks of checkpoints find it by this.

    Attributes:
        rows_of: what a row is for.
        replaces_plain: whether it stands where a module of the same parameters without rows stands
            in other models, whose values then are every row's start; what is in addition starts on
            its own.
    """

    rows_of: ClassVar[Literal["target", "pair"]] = "target"
    replaces_plain: ClassVar[bool] = True


def grouped(x: Tensor, rows: Tensor, compute: Callable[..., Tensor], *parameters: Tensor) -> Tensor:
    """``compute`` of each token and of the rows that the parameters have for it: (..., E).

    Tokens of one row are brought together, so that each row takes part in one product; rows
    without a token are not computed, and have zero gradients.

    Args:
        x: (..., D).
        rows: from 0, broadcastable to (...).
        compute: of tokens (n, D) and one row of each of the parameters: (n, E).
        parameters: each (K, ...).
    """
    places = rows.expand(x.shape[:-1]).flatten()
    sizes = torch.bincount(places, minlength=len(parameters[0])).tolist()
    present = [row for row, size in enumerate(sizes) if size] or [0]
    # unbound at once, so that there is one gradient for all rows
    by_row = list(zip(*(parameter.unbind() for parameter in parameters), strict=True))
    if len(present) == 1:
        whole: Tensor = compute(x.flatten(0, -2), *by_row[present[0]])
        return whole.view(*x.shape[:-1], whole.size(-1))
    order = places.argsort(stable=True)
    groups = x.flatten(0, -2).index_select(0, order).split([sizes[row] for row in present])
    outputs = [compute(group, *by_row[row]) for row, group in zip(present, groups, strict=True)]
    whole = torch.cat(outputs).index_select(0, order.argsort())
    return whole.view(*x.shape[:-1], whole.size(-1))
