"""Multilingual neural machine translation with decoder-only and two-stage models, for fairseq.

``--user-dir tdo_plugin`` imports this package, which registers its models, criterions and tasks.
Without fairseq nothing is registered and nothing heavy is imported: registration waits for it.
"""

from importlib import import_module

from tdo_compat import patches

__version__ = "0.1.0"

patches.after_fairseq(lambda: import_module("tdo_plugin.registration"))
