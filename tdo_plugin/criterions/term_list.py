"""All loss terms, by name."""

from tdo_plugin.criterions.instrucl import InstruCL
from tdo_plugin.criterions.lexical import Lexical
from tdo_plugin.criterions.loss_terms import LossTerm
from tdo_plugin.criterions.reconstruction import Reconstruction
from tdo_plugin.criterions.tpdm import TPDM

_TERMS: tuple[type[LossTerm], ...] = (InstruCL, TPDM, Reconstruction, Lexical)
TERMS = {term.name: term for term in _TERMS}
