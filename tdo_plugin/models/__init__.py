"""The models as fairseq sees them: options, presets, encoder and decoder."""

# imported first: fairseq then registers packages built on this one, which need all modules here
import fairseq.models  # noqa: F401

from tdo_plugin.models import presets as presets
from tdo_plugin.models import tdo_transformer as tdo_transformer
