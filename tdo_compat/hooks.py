"""Hooks with which a package built on fairseq extends the patches; by default they do nothing."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes time at every start
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

# returns the record of a command for checkpoints, given its words
note_of_command: Callable[[str], Any] = str
# returns the task of the checkpoints of ``--path``; None: they need no other than the usual one
task_of_checkpoints: Callable[[str], str | None] | None = None
# sets the text settings of a checkpoint, given options, parser and words of a command
complete_options: Callable[[Any, Any, Any], None] | None = None
# a context manager around each process of a training, given its settings
record_training: Callable[[Any], AbstractContextManager[None]] | None = None
# replaces the progress bars of a recorded training
watch_progress: Callable[[Any], Any] | None = None
# records why a training failed, if another of its workers failed first
failed_elsewhere: Callable[[str], None] | None = None
