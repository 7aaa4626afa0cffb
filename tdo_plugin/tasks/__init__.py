"""The fairseq tasks: data loading, batches, validation and checkpoint state."""

from tdo_plugin.tasks import tdo_robt as _tdo_robt
from tdo_plugin.tasks import tdo_translation as _tdo_translation

__all__ = ["_tdo_robt", "_tdo_translation"]
