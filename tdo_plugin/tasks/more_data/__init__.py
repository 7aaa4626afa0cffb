"""Training data beside the sentence pairs of the data folder."""

from tdo_plugin.tasks.more_data.auxiliary_options import (
    add_more_data_options,
    check_mark,
    check_more_data_options,
    check_terms,
    check_topology,
)
from tdo_plugin.tasks.more_data.auxiliary_sets import MoreDataManager

__all__ = [
    "MoreDataManager",
    "add_more_data_options",
    "check_mark",
    "check_more_data_options",
    "check_terms",
    "check_topology",
]
