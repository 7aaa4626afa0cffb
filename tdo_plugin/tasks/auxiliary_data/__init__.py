"""Training data in addition to the sentence pairs of the data folder."""

from tdo_plugin.tasks.auxiliary_data.auxiliary_options import (
    add_auxiliary_options,
    check_auxiliary_options,
    check_mark,
    check_terms,
    check_topology,
)
from tdo_plugin.tasks.auxiliary_data.auxiliary_sets import AuxiliaryDataManager

__all__ = [
    "AuxiliaryDataManager",
    "add_auxiliary_options",
    "check_auxiliary_options",
    "check_mark",
    "check_terms",
    "check_topology",
]
