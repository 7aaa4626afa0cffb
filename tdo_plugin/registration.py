"""Registers this package's models, criterions, tasks and Adam with fairseq, in a fixed order."""

import tdo_plugin.models
import tdo_plugin.criterions
import tdo_plugin.tasks
import tdo_plugin.optim.fused_adam  # noqa: F401
from tdo_compat import hooks
from tdo_plugin.tasks import checkpoint_options

hooks.task_of_checkpoints = checkpoint_options.task_of
hooks.complete_options = checkpoint_options.complete
