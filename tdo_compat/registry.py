"""What a patch is, and the list of them in the order in which they are applied.

A patch is a small function under :func:`patch`, which says its name, what breaks, since which
version, when it is needed, and which fairseq modules it changes right after they were executed.
Heavy modules are imported inside these functions, since ``tdo_compat`` is imported whenever Python
starts.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, which is not imported at each start of Python
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Apply = TypeVar("Apply", bound=Callable[..., Any])


TORCHRUN = "torch.distributed.run"
EVERYWHERE = "all of fairseq"  # stands for each module of it, and for those of its commands


class Patch:
    """One row of ``PATCHES``. ``status`` is ``waiting``, ``applied`` or ``not needed``."""

    def __init__(
        self,
        name: str,
        breaks: str,
        since: str,
        needed: Callable[[], bool],
        modules: tuple[str, ...],
        apply: Callable[..., Any],
    ) -> None:
        self.name, self.breaks, self.since, self.needed = name, breaks, since, needed
        self.modules, self.apply, self.status = modules, apply, "waiting"

    def concerns(self, module_name: str) -> bool:
        """Whether it changes this module; those without modules are contexts around all of them."""
        return module_name in self.modules or (
            EVERYWHERE in self.modules and module_name != TORCHRUN
        )

    def decide(self) -> bool:
        """Whether it is needed here, which :func:`overview` tells from then on."""
        self.status = "applied" if self.needed() else "not needed"
        return self.status == "applied"


PATCHES: list[Patch] = []


def patch(
    name: str, breaks: str, since: str, needed: Callable[[], bool], *modules: str
) -> Callable[[Apply], Apply]:
    """Register the decorated ``apply(module)``; with no modules, a context around all of them."""

    def register(apply: Apply) -> Apply:
        PATCHES.append(Patch(name, breaks, since, needed, modules, apply))
        return apply

    return register


def overview() -> list[dict[str, str]]:
    """What ``tdo doctor`` prints: a dict with name, breaks, since and status for every patch."""
    return [
        {key: vars(patch)[key] for key in ("name", "breaks", "since", "status")}
        for patch in PATCHES
    ]


def version(module: str) -> tuple[int, ...]:
    """(major, minor) of an imported or importable module."""
    return tuple(int(part) for part in __import__(module).__version__.split(".")[:2])


def overlay(module: Any, **changed: Any) -> Any:
    """A view of ``module`` in which the names of ``changed`` are other things.

    It replaces the module in one fairseq file's namespace, so that nobody else sees the change.
    """
    import types

    view: Any = types.ModuleType(module.__name__)
    view.__dict__.update(changed)
    view.__getattr__ = lambda name: getattr(module, name)
    return view
