"""The training objectives: one criterion with a list of loss terms, and presets of it."""

from tdo_plugin.criterions import label_smoothed_cross_entropy_instrucl as _instrucl
from tdo_plugin.criterions import label_smoothed_cross_entropy_terms as _terms
from tdo_plugin.criterions import label_smoothed_cross_entropy_tlm as _tlm
from tdo_plugin.criterions import label_smoothed_cross_entropy_tpdm as _tpdm

__all__ = ["_instrucl", "_terms", "_tlm", "_tpdm"]
