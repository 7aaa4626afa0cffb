"""The training objectives: one criterion with a list of loss terms, and its presets."""

from tdo_plugin.criterions import criterion_presets as _presets
from tdo_plugin.criterions import label_smoothed_cross_entropy_terms as _terms

__all__ = ["_presets", "_terms"]
