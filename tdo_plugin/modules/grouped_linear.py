"""Computation with language- or pair-specific parameters, tokens grouped by language or pair.

Shapes: N tokens, (...) input tokens, K rows of parameters, D and E widths.
"""

from collections.abc import Callable
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from tdo_plugin.modules.token_context import Rows


class PerLanguage(nn.Module):
    """A module whose parameters (K, ...) all have one row per language or language pair.

    `tdo extend`, fine-tuning from a model without the module, and checkpoint checks look for this
    class.

    Attributes:
        rows_of: what a row stands for.
        replaces_plain: whether the module takes the place of one with the same parameters but
            without rows. Then those values initialise every row; additional modules have an
            initialisation of their own.
    """

    rows_of: ClassVar[Literal["target", "pair"]] = "target"
    replaces_plain: ClassVar[bool] = True


def grouped(x: Tensor, rows: Rows, compute: Callable[..., Tensor], *parameters: Tensor) -> Tensor:
    """``compute`` applied to each token and its row of the parameters: (..., E).

    Tokens of the same row are grouped, so that each row needs one product; rows without tokens are
    not computed and have zero gradients.

    Args:
        x: (..., D).
        rows: index of each token's row, from 0, broadcastable to (...); every sentence has the same
            number of tokens.
        compute: takes tokens (n, D) and one row of each parameter, returns (n, E).
        parameters: each (K, ...).
    """
    places = rows.of_tokens.expand(x.shape[:-1]).flatten()
    sizes = rows.counts.sizes(len(places))
    present = list(sizes) or [0]
    # unbound together, so that all rows share one gradient tensor
    by_row = list(zip(*(parameter.unbind() for parameter in parameters), strict=True))
    if len(present) == 1:
        whole: Tensor = compute(x.flatten(0, -2), *by_row[present[0]])
        return whole.view(*x.shape[:-1], whole.size(-1))
    order = places.argsort(stable=True)
    groups = x.flatten(0, -2).index_select(0, order).split([sizes[row] for row in present])
    outputs = [compute(group, *by_row[row]) for row, group in zip(present, groups, strict=True)]
    whole = torch.cat(outputs).index_select(0, order.argsort())
    return whole.view(*x.shape[:-1], whole.size(-1))
