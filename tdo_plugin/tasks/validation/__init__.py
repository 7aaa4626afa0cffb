"""Translation scores during training, for `--eval-translation`."""

from tdo_plugin.tasks.validation.validation import FILE, Validation, validation_of
from tdo_plugin.tasks.validation.validation_options import add_validation_options

__all__ = ["FILE", "Validation", "add_validation_options", "validation_of"]
