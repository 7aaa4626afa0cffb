"""Random online back-translation (Zhang et al., 2020, section 4) for `--task tdo_robt`."""

from tdo_plugin.tasks.robt.hook import BackTranslation
from tdo_plugin.tasks.robt.robt_options import add_robt_options

__all__ = ["BackTranslation", "add_robt_options"]
