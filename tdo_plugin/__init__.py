"""Multilingual neural machine translation with decoder-only and two-stage models, for fairseq.

``--user-dir tdo_plugin`` imports this package, which registers its models, criterions and tasks.
Without fairseq nothing is registered and nothing large is imported: registration is deferred.
"""

from importlib import import_module
from typing import Any

from tdo_compat import hooks, patches

__version__ = "0.1.0"


def _note_of_command(command: str) -> dict[str, Any]:
    from tdo_plugin.runtime import provenance

    return provenance.made_by(command)


hooks.note_of_command = _note_of_command
patches.after_fairseq(lambda: import_module("tdo_plugin.registration"))
