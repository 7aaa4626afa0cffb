"""Speed and memory of the models, compared with baselines.

A ``--user-dir`` for fairseq: ``--arch concatenating_transformer`` is ``tdo_transformer`` (and so on
for every decoder-only preset) computed as one joint sequence, ``--criterion plain_cross_entropy``
its loss as computed by fairseq, ``--arch reference_transformer`` the models with some operations in
their textbook form (``--reference-ops``). Like ``tdo_plugin``, it registers once fairseq is
imported, and imports nothing heavy before.
"""

from importlib import import_module

from tdo_compat import patches


def _register() -> None:
    for name in ("concatenating", "plain_cross_entropy", "reference_transformer"):
        import_module(f"{__name__}.{name}")


patches.after_fairseq(_register)
