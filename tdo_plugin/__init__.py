"""Multilingual neural machine translation with decoder-only and two-stage models, for fairseq.

``--user-dir tdo_plugin`` imports this package, which registers its models, criterions and tasks.
Without fairseq nothing is registered and nothing heavy is imported: registration waits for it.
"""

from importlib import import_module

import tdo_plugin_boot

__version__ = "0.1.0"

tdo_plugin_boot.after_fairseq(lambda: import_module("tdo_plugin.registration"))
