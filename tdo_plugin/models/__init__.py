"""fairseq's face of the models: options, presets, encoder and decoder."""

from tdo_plugin.models import presets as presets
from tdo_plugin.models import tdo_transformer as tdo_transformer
