"""How fast the models are, and the plain baseline that they are held against.

A ``--user-dir`` for fairseq: ``--arch concatenating_transformer`` is ``tdo_transformer`` (and so on
for every decoder-only preset) computed as one joint sequence, ``--criterion plain_cross_entropy``
its loss as fairseq computes it, ``--arch reference_transformer`` the models with some operations as
a textbook has them (``--reference-ops``). As ``tdo_plugin`` it registers when fairseq is there, and
imports nothing heavy before.
"""

from importlib import import_module

from tdo_compat import patches


def _register() -> None:
    for name in ("concatenating", "plain_cross_entropy", "reference_transformer"):
        import_module(f"{__name__}.{name}")


patches.after_fairseq(_register)
