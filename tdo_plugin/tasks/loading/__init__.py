"""Data loading and sampling for `--data-loading` and `--virtual-epoch-draw`."""

from tdo_plugin.tasks.loading.direction_loading import LeanDataManager
from tdo_plugin.tasks.loading.loading_options import add_loading_options, check_loading_options

__all__ = ["LeanDataManager", "add_loading_options", "check_loading_options"]
