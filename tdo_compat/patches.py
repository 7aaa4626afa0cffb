"""Applies the patches: a finder that runs fairseq's modules with them.

``tdo_compat.pth``, which `tdo setup` writes, imports this module whenever Python starts, so that
the patches are in place before fairseq is imported, however it is started: console command,
``python -m``, ``torchrun`` (``python -m torch.distributed.run`` itself cannot be patched, but its
workers are), a spawned or forked worker. Importing this module only adds a finder to
``sys.meta_path``; nothing else happens until ``fairseq`` is imported.
"""

from __future__ import annotations

import sys

from tdo_compat import command_patches, file_patches, training_patches, version_patches
from tdo_compat.registry import PATCHES, TORCHRUN

TYPE_CHECKING = False  # typing's constant, without importing typing at each start of Python
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


# importing these has registered their patches; their order matters only within a file
PATCH_FILES = (command_patches, file_patches, training_patches, version_patches)

_callbacks: list[Callable[[], object]] = []


class _Finder:
    """Finds nothing itself: lets the other finders find a module and runs it with the patches."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != TORCHRUN and name.partition(".")[0] not in ("fairseq", "fairseq_cli"):
            return None
        finders = [finder.find_spec for finder in sys.meta_path if finder is not _Finder]
        spec = next(filter(None, (find(name, path, target) for find in finders)), None)
        loader: Any = getattr(spec, "loader", None)
        if type(loader).__name__ == "SourceFileLoader":
            original = loader.exec_module
            loader.exec_module = lambda module: _execute(original, module)
        return spec


def _execute(exec_module: Callable[[ModuleType], None], module: ModuleType) -> None:
    """Run a fairseq module's code, with patches around and after it."""
    import contextlib

    name = module.__name__
    if name == "fairseq":
        _install_one_line_errors()
    with contextlib.ExitStack() as stack:
        for patch in PATCHES:
            if not patch.modules and name != TORCHRUN and patch.decide():
                stack.enter_context(patch.apply())
        exec_module(module)
    _patch_after(name, module)
    if name == "fairseq":
        while _callbacks:
            _callbacks.pop(0)()


def _install_one_line_errors() -> None:
    from tdo_compat import errors

    errors.install()


def _patch_after(name: str, module: ModuleType) -> None:
    for patch in PATCHES:
        if patch.concerns(name) and patch.decide():
            patch.apply(module)


def after_fairseq(callback: Callable[[], object]) -> None:
    """Call ``callback()`` once: now if fairseq is already imported, else right after its import."""
    fairseq = sys.modules.get("fairseq")
    if fairseq is not None and not getattr(fairseq.__spec__, "_initializing", False):
        callback()
    else:
        _callbacks.append(callback)


def install() -> None:
    """Add the finder once; patch modules that were imported before (if no ``.pth`` ran)."""
    if _Finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _Finder)
    if "fairseq" in sys.modules:
        _install_one_line_errors()
        patched = ("fairseq.", "fairseq_cli.")
        for name in [module for module in sys.modules if module.startswith(patched)]:
            _patch_after(name, sys.modules[name])


install()
