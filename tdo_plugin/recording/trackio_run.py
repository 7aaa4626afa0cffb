"""Log a training run to trackio (`--trackio-project`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class TrackioRun:
    """A trackio run, which a resumed training continues.

    Args:
        project: the trackio project.
        name: name of the run.
        settings: the training options.
    """

    def __init__(self, project: str, name: str, settings: Mapping[str, Any]) -> None:
        import trackio

        self._run = trackio.init(project=project, name=name, config=dict(settings), resume="allow")

    def log(self, tag: str, update: int, values: Mapping[str, float]) -> None:
        """Log values at an update under names such as `valid/loss`, with the tag as prefix."""
        self._run.log({f"{tag}/{name}": value for name, value in values.items()}, step=update)

    def finish(self) -> None:
        """Flush all pending values and close the run."""
        self._run.finish()
