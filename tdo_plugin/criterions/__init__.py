"""The training objectives: one criterion with a list of loss terms, and presets of it."""

from tdo_plugin.criterions import label_smoothed_cross_entropy_terms as _terms
from tdo_plugin.criterions import presets as _presets

__all__ = ["_presets", "_terms"]
