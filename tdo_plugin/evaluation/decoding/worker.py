"""A worker process that decodes: its input and its main loop."""

from __future__ import annotations

import logging
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tdo_compat.errors import lacks_memory
from tdo_plugin.data.databin import DataFolder
from tdo_plugin.errors import line_or_traceback
from tdo_plugin.evaluation.decoding.decoded_checkpoints import describe
from tdo_plugin.evaluation.decoding.decoding_options import DecodingOptions
from tdo_plugin.evaluation.decoding.translators import Translators

if TYPE_CHECKING:
    from tdo_plugin.evaluation.decoding.translator import Translator


class AnyWork(Protocol):
    """The input shared by all workers, with the method to load what jobs need."""

    @property
    def data(self) -> DataFolder: ...
    @property
    def out(self) -> Path: ...
    @property
    def checkpoints(self) -> tuple[Path, ...]: ...

    def load(self, device: str) -> Any:
        """Load the models in the worker process; raises UserError on failure."""
        ...


@dataclass(frozen=True)
class Work:
    """The input shared by all decoding workers.

    Attributes:
        options: decoding options.
        data: the folder with segmentation and test sets.
        out: the output folder.
        user_dir: a further package to import.
        by_source: decoding options for some source languages; see `Translators`.
    """

    options: DecodingOptions
    data: DataFolder
    out: Path
    user_dir: Path | None = None
    by_source: Mapping[str, DecodingOptions] = field(default_factory=dict)

    @property
    def checkpoints(self) -> tuple[Path, ...]:
        """The checkpoints to load."""
        every = (self.options, *self.by_source.values())
        return tuple(path for options in every for path in options.checkpoints)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that determine hypotheses besides the options."""
        return {}

    def load(self, device: str) -> Translators:
        """Load the models for jobs."""
        further = {
            source: load(replace(self, options=options), device)
            for source, options in self.by_source.items()
        }
        return Translators(load(self, device), further)


def serve(connection: Connection, work: AnyWork, device: str) -> None:
    """The main loop of a worker: load the model, do jobs, until the parent closes the connection.

    A parent that ends with unread messages resets the connection instead of closing it.
    """
    signal.signal(signal.SIGTERM, _end)
    try:
        loaded = work.load(device)
        connection.send(("ready", [describe(path) for path in work.checkpoints]))
    except ConnectionError:  # the parent has ended
        return
    except Exception as error:
        with suppress(ConnectionError):
            connection.send(("unusable", line_or_traceback(error)))
        return

    def progress(sentences: int) -> None:
        connection.send(("sentences", sentences))

    try:
        while True:
            job = connection.recv()
            try:
                job.perform(loaded, work.data, work.out, progress)
            except ConnectionError:
                raise
            except Exception as error:
                hint = "`--max-tokens` must be lower; " if lacks_memory(error) else ""
                connection.send(("failed", hint + line_or_traceback(error)))
            else:
                connection.send(("done", ""))
    except (EOFError, ConnectionError):
        return


def _end(*_: object) -> None:
    """Exit with Python's clean-up, but without messages from half-initialised objects."""
    sys.unraisablehook = lambda _: None
    sys.exit(143)


def load(work: Work, device: str) -> Translator:
    """Load a `Translator` of the work's checkpoints on a device, without fairseq's log lines.

    Raises:
        UserError: see `Translator`.
    """
    begin(device, work.user_dir)
    import torch

    from tdo_plugin.evaluation.decoding.translator import Translator

    return Translator(work.options, work.data, torch.device(device))


def begin(device: str, user_dir: Path | None) -> None:
    """Prepare loading a model: disable log lines, import the user's package, set the device."""
    logging.disable(logging.INFO)
    import torch
    from fairseq import utils

    if user_dir:
        utils.import_user_module(Namespace(user_dir=str(user_dir)))
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(device))
