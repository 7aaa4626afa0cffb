"""Tensors that know how they were made, so that they need not wait for the backward pass.

What a linear projection reads it would keep for the gradient of its weights. A norm's output can be
made again of the norm's input, which is kept anyway, and tensors that were put together of the
pieces.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor


class Recipe(NamedTuple):
    """How a tensor was made.

    Attributes:
        make: gives the same numbers once more, of the ingredients.
        ingredients: which are kept for other reasons, or smaller.
        version: of the tensor when it was made; a later one was changed in place.
    """

    make: Callable[..., Tensor]
    ingredients: tuple[Tensor, ...]
    version: int


def note(made: Tensor, make: Callable[..., Tensor], *ingredients: Tensor) -> Tensor:
    """The tensor ``made``, which from now on knows its recipe, where its gradient is wanted."""
    if made.requires_grad:
        apart = tuple(one.detach() for one in ingredients)
        made.recipe = Recipe(make, apart, made._version)  # type: ignore[attr-defined]
    return made


def recipe_of(x: Tensor) -> Recipe | None:
    """How ``x`` was made, where that was noted and nothing has changed it since."""
    recipe: Recipe | None = getattr(x, "recipe", None)
    return recipe if recipe is not None and recipe.version == x._version else None
