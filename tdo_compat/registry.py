"""The patch class, and the list of patches in the order of application.

A patch is a small function decorated by :func:`patch`, which sets its name, what breaks without it,
since which version, when it is needed, and which fairseq modules it changes right after they are
executed. Large modules are imported inside these functions, since ``tdo_compat`` is imported
whenever Python starts.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's constant, without importing typing at each start of Python
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Apply = TypeVar("Apply", bound=Callable[..., Any])


TORCHRUN = "torch.distributed.run"
EVERYWHERE = "all of fairseq"  # stands for each of its modules, and those of its commands


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
        """Whether it changes this module; patches without modules are contexts around all."""
        return module_name in self.modules or (
            EVERYWHERE in self.modules and module_name != TORCHRUN
        )

    def decide(self) -> bool:
        """Determine and record whether it is needed here (see :func:`overview`)."""
        self.status = "applied" if self.needed() else "not needed"
        return self.status == "applied"


PATCHES: list[Patch] = []


def patch(
    name: str,
    breaks: str,
    *modules: str,
    since: str = "fairseq 0.12.2",
    needed: Callable[[], bool] = lambda: True,
) -> Callable[[Apply], Apply]:
    """Register the decorated ``apply(module)``.

    Args:
        name: short, for `tdo doctor`.
        breaks: what is wrong without it.
        modules: that it changes; none: it is a context around all of fairseq's modules.
        since: the version that brought the fault; most are in fairseq itself.
        needed: whether it is needed here; most always are.
    """

    def register(apply: Apply) -> Apply:
        PATCHES.append(Patch(name, breaks, since, needed, modules, apply))
        return apply

    return register


def overview() -> list[dict[str, str]]:
    """The rows of ``tdo doctor``: a dict with name, breaks, since and status for every patch."""
    return [
        {key: vars(patch)[key] for key in ("name", "breaks", "since", "status")}
        for patch in PATCHES
    ]


def version(module: str) -> tuple[int, ...]:
    """(major, minor) of an imported or importable module."""
    return tuple(int(part) for part in __import__(module).__version__.split(".")[:2])


def overlay(module: Any, **changed: Any) -> Any:
    """A view of ``module`` with the names of ``changed`` replaced.

    It replaces the module in one fairseq file's namespace, so that no other code sees the change.
    """
    import types

    view: Any = types.ModuleType(module.__name__)
    view.__dict__.update(changed)
    view.__getattr__ = lambda name: getattr(module, name)
    return view
