"""Logs a training as a run of trackio (`--trackio-project`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class TrackioRun:
    """One run, which a resumed training continues.

    Args:
        project: trackio's project.
        name: of the run.
        settings: the options of the training.
    """

    def __init__(self, project: str, name: str, settings: Mapping[str, Any]) -> None:
        import trackio

        self._run = trackio.init(project=project, name=name, config=dict(settings), resume="allow")

    def log(self, tag: str, update: int, values: Mapping[str, float]) -> None:
        """Log values of one part, such as `valid`, after an update; they are `valid/loss`, ..."""
        self._run.log({f"{tag}/{name}": value for name, value in values.items()}, step=update)

    def finish(self) -> None:
        """Write all that is left to write."""
        self._run.finish()
