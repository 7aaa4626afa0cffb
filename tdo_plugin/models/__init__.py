"""fairseq's face of the models: options, presets, encoder and decoder."""

# first: packages built on this one register when fairseq comes, and then find whole modules here
import fairseq.models  # noqa: F401

from tdo_plugin.models import presets as presets
from tdo_plugin.models import tdo_transformer as tdo_transformer
