"""What a criterion knows of the model that it is for."""

from argparse import Namespace
from typing import Any

from tdo_plugin.models.config import spec_from_args
from tdo_plugin.models.trained_pairs import trained_pairs
from tdo_plugin.modules.spec import ModelSpec


def spec_of(model: Any) -> ModelSpec | None:
    """The specification of a model; None of one that is not this package's."""
    core = getattr(model, "core", None)
    return None if core is None else core.spec


def spec_of_training(task: Any) -> ModelSpec | None:
    """The specification of the model that a task's training builds, or None likewise.

    Raises:
        UserError: as :func:`spec_from_args`.
    """
    args = getattr(task, "args", Namespace())
    if not hasattr(args, "tdo_topology"):
        return None
    return spec_from_args(args, len(getattr(task, "langs", ())), len(trained_pairs(args)))
