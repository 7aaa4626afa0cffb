"""Multilingual neural machine translation with decoder-only and two-stage models, for fairseq.

``--user-dir tdo_plugin`` imports this package, which registers its models, criterions and tasks.
Without fairseq nothing is registered and nothing large is imported: registration is deferred.
"""

from importlib import import_module
from typing import Any

from tdo_compat import hooks, patches

__version__ = "0.3.0"


def _note_of_command(command: str) -> dict[str, Any]:
    from tdo_plugin.runtime import provenance

    return provenance.made_by(command)


def _record_training(cfg: Any) -> Any:
    from tdo_plugin.launch.environment import tune_training
    from tdo_plugin.recording.recorder import record_training

    tune_training(cfg.common.cpu)
    return record_training(cfg)


hooks.note_of_command = _note_of_command
hooks.record_training = _record_training
patches.after_fairseq(lambda: import_module("tdo_plugin.registration"))
