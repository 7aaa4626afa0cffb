"""What a patch is, and the list of them in the order in which they are applied.

A patch is a small function under :func:`patch`, which says its name, what breaks, since which
version, when it is needed, and which fairseq modules it changes right after they were executed.
Heavy modules are imported inside these functions, since ``tdo_compat`` is imported whenever Python
starts.
"""

PATCHES = []
TORCHRUN = "torch.distributed.run"
EVERYWHERE = "all of fairseq"  # stands for each module of it, and for those of its commands


class Patch:
    """One row of ``PATCHES``. ``status`` is ``waiting``, ``applied`` or ``not needed``."""

    def __init__(self, name, breaks, since, needed, modules, apply):
        self.name, self.breaks, self.since, self.needed = name, breaks, since, needed
        self.modules, self.apply, self.status = modules, apply, "waiting"

    def concerns(self, module_name):
        """Whether it changes this module; those without modules are contexts around all of them."""
        return module_name in self.modules or (
            EVERYWHERE in self.modules and module_name != TORCHRUN
        )

    def is_applied(self):
        """Whether it is needed here, which :func:`overview` tells from then on."""
        self.status = "applied" if self.needed() else "not needed"
        return self.status == "applied"


def patch(name, breaks, since, needed, *modules):
    """Register the decorated ``apply(module)``; with no modules, a context around all of them."""
    return lambda apply: PATCHES.append(Patch(name, breaks, since, needed, modules, apply)) or apply


def overview() -> list[dict[str, str]]:
    """What ``tdo doctor`` prints: a dict with name, breaks, since and status for every patch."""
    return [
        {key: vars(patch)[key] for key in ("name", "breaks", "since", "status")}
        for patch in PATCHES
    ]


def version(module):
    """(major, minor) of an imported or importable module."""
    return tuple(int(part) for part in __import__(module).__version__.split(".")[:2])


def overlay(module, **changed):
    """A view of ``module`` in which the names of ``changed`` are other things.

    It replaces the module in one fairseq file's namespace, so that nobody else sees the change.
    """
    import types

    view = types.ModuleType(module.__name__)
    view.__dict__.update(changed)
    view.__getattr__ = lambda name: getattr(module, name)
    return view
