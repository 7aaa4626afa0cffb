"""Record a training run in its checkpoint folder while it runs.

Only the first of several workers records. If recording fails, one warning is logged and training
continues. A training that is refused before its first update leaves no new folder.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from fairseq.distributed import utils as distributed
from fairseq.logging import metrics
from omegaconf import OmegaConf

from tdo_compat import hooks
from tdo_compat.checkpoint import command_line
from tdo_compat.errors import bounded, lacks_memory, one_line
from tdo_compat.resuming import check_folder
from tdo_compat.shutdown import ENDED
from tdo_plugin.launch.training_record import RECORD
from tdo_plugin.recording import logged_values
from tdo_plugin.recording.folder_page import PAGE, write_page
from tdo_plugin.recording.origins import all_versions, data_identity, this_machine
from tdo_plugin.recording.runs import (
    FAILED,
    FILE,
    FINISHED,
    INTERRUPTED,
    Run,
    effective_options,
    read_runs,
    with_new_run,
    with_options,
    write_runs,
)
from tdo_plugin.recording.trackio_run import TrackioRun
from tdo_plugin.runtime.lock import LOCK, alone
from tdo_plugin.runtime.provenance import git_commit

LOG = "train.log"
RECORDS = {LOG, PAGE, FILE, RECORD, LOCK}  # files that a training has before its first update
LOADERS = 10.0  # seconds for processes that load batches to notice that their training was killed
SHARE = 100  # writing the page takes at most 1/SHARE of the time
# the log format of fairseq's commands
LINES = logging.Formatter("%(asctime)s | %(levelname)s | %(name)s | %(message)s", "%Y-%m-%d %X")

logger = logging.getLogger(__name__)


@contextmanager
def record_training(cfg: Any) -> Iterator[None]:
    """Record a process of fairseq-train in its checkpoint folder, inside a `with` block.

    Args:
        cfg: fairseq's settings. With `--no-save` nothing is recorded.

    Raises:
        UserError: another training writes to the folder.
        CheckpointError: its last checkpoint is missing.
    """
    hooks.failed_elsewhere = None
    if cfg.checkpoint.no_save or not distributed.is_master(cfg.distributed_training):
        yield
        return
    folder = Path(cfg.checkpoint.save_dir)
    made_by_tdo_train = (folder / RECORD).is_file()
    try:
        with alone(folder, "--save-dir", LOADERS):
            check_folder(cfg)
            yield from _recorded(cfg)
    finally:
        if made_by_tdo_train:
            with suppress(OSError):  # not empty, unless the training was refused
                folder.rmdir()


def _recorded(cfg: Any) -> Iterator[None]:
    recorder = Recorder(cfg)
    recorder.begin()
    hooks.watch_progress = recorder.watched
    hooks.failed_elsewhere = recorder.fail
    try:
        yield
    except BaseException as error:
        recorder.end(*_outcome(error), error)
        if recorder.is_refused(error):
            hooks.failed_elsewhere = None
            recorder.discard()
        raise
    else:
        recorder.end(FINISHED)
    finally:
        # the other hook stays: why another worker failed may be known only after this one's error
        hooks.watch_progress = None


def _outcome(error: BaseException) -> tuple[str, str]:
    """Return the run state and the reason that correspond to an exception."""
    if isinstance(error, SystemExit) and error.code in (0, None):
        return FINISHED, ""
    if isinstance(error, SystemExit) and error.code == ENDED:
        return INTERRUPTED, "by a signal"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "from the keyboard"
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return FAILED, one_line(type(error), error) or bounded(text)


class Recorder:
    """Writes the files of one run: log, `runs.json`, `metrics.jsonl`, page.

    Args:
        cfg: fairseq's settings.
    """

    def __init__(self, cfg: Any) -> None:
        self._folder = Path(cfg.checkpoint.save_dir)
        self._cfg = cfg
        self._runs: list[Run] = []
        self._options_noted = False
        self._updates = 0
        self._log: logging.FileHandler | None = None
        self._trackio: TrackioRun | None = None
        self._next_page = 0.0
        self._warned: set[str] = set()

    def begin(self) -> None:
        """Open the log, and record command, versions, machine and data of the run."""
        self._try(LOG, self._open_log)
        self._try("runs.json", self._begin_run)
        self._try("trackio", self._begin_trackio)
        self._try(PAGE, self._write_page)
        logger.info(f"the log, the settings and a page ({PAGE}) are in {self._folder.resolve()}")

    def watched(self, bar: Any) -> WatchedBar:
        """Wrap a fairseq progress bar so that this recorder receives the logged values."""
        if not self._options_noted:  # first bar: all code that changes options has run by now
            self._options_noted = True
            self._try("runs.json", self._note_options)
        return WatchedBar(bar, self._logged)

    def fail(self, reason: str) -> None:
        """Record that another worker failed first and caused the error of this worker."""
        self.end(FAILED, reason)

    def end(self, state: str, reason: str = "", error: BaseException | None = None) -> None:
        """Record how the run ended in the log, in `runs.json` and on the page."""
        trained = metrics.get_meter("train", "num_updates")
        updates = int(getattr(trained, "val", None) or self._updates)
        self._updates = max(self._updates, updates)
        self._try("runs.json", lambda: self._end_run(state, reason))
        outcome = self._runs[-1].outcome() if self._runs else f"{state} {reason}".strip()
        self._try(LOG, lambda: self._note(f"{outcome} (update {self._updates})", error))
        if self._trackio is not None:
            self._try("trackio", self._trackio.finish)
            self._trackio = None
        self._try(PAGE, self._write_page)
        if self._log is not None:
            logging.getLogger().removeHandler(self._log)
            self._try(LOG, self._log.close)

    def is_refused(self, error: BaseException) -> bool:
        """Whether this is the folder's only run, and ended before its first update by a mistake
        of the user, so that the folder has nothing but its record.
        """
        mistake = one_line(type(error), error) is not None and not lacks_memory(error)
        return (
            isinstance(error, Exception)
            and mistake
            and not self._updates
            and len(self._runs) == 1
            and RECORDS.issuperset(path.name for path in self._folder.glob("*"))
        )

    def discard(self) -> None:
        """Remove all files of the record."""
        for path in list(self._folder.glob("*")):
            if path.name != LOCK:  # which is still held
                path.unlink()

    def _try(self, what: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            self._warn(what, error)

    def _warn(self, what: str, error: BaseException | None) -> None:
        if what not in self._warned:
            self._warned.add(what)
            text = bounded(f"{type(error).__name__}: {error}")
            logger.warning(f"recording {what} failed; the training continues: {text}")

    # --- the log -------------------------------------------------------------------------------

    def _open_log(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._log = LogFile(self._folder / LOG, lambda error: self._warn(LOG, error))
        self._log.setFormatter(LINES)
        logging.getLogger().addHandler(self._log)
        self._note(f"begins: {command_line()}")

    def _note(self, text: str, error: BaseException | None = None) -> None:
        """Write a line to the log file only, with the traceback of an internal error."""
        if self._log is None:
            return
        fault = error is not None and isinstance(error, Exception)
        shown = error if fault and error and one_line(type(error), error) is None else None
        level = logging.ERROR if fault else logging.INFO
        trace = (type(shown), shown, shown.__traceback__) if shown else None
        self._log.handle(logger.makeRecord(logger.name, level, "", 0, text, (), trace))

    # --- the runs ------------------------------------------------------------------------------

    def _begin_run(self) -> None:
        run = Run(
            started=_now(),
            command=command_line(),
            options={},
            versions=all_versions(),
            commit=git_commit(),
            machine=this_machine(self._cfg.distributed_training.distributed_world_size),
            data=data_identity(_data_folders(self._options())),
        )
        self._runs = with_new_run(read_runs(self._folder), run)
        write_runs(self._folder, self._runs)

    def _note_options(self) -> None:
        self._runs = with_options(self._runs, self._options())
        write_runs(self._folder, self._runs)

    def _options(self) -> dict[str, Any]:
        settings = OmegaConf.to_container(self._cfg)
        assert isinstance(settings, dict)
        return effective_options(settings)

    def _end_run(self, state: str, reason: str) -> None:
        if not self._runs:  # the start of the run could not be recorded
            return
        self._runs[-1] = replace(
            self._runs[-1], state=state, ended=_now(), reason=reason, updates=self._updates
        )
        write_runs(self._folder, self._runs)

    # --- what is logged ------------------------------------------------------------------------

    def _begin_trackio(self) -> None:
        project = getattr(self._cfg.task, "trackio_project", None)
        if project:
            name = self._folder.resolve().name
            self._trackio = TrackioRun(project, name, self._options())

    def _logged(
        self, stats: Mapping[str, Any], tag: str | None, step: int | None, whole: bool
    ) -> None:
        """Record values that fairseq logs.

        Args:
            stats: logged values by name.
            tag: `train_inner`, `train`, or a validation set's name.
            step: the number of updates; None if `stats` contains it.
            whole: whether the values are those of a complete epoch or validation.
        """
        self._try(logged_values.FILE, lambda: self._note_values(stats, tag or "", step))
        if whole and time.monotonic() >= self._next_page:
            self._try(PAGE, self._write_page)

    def _note_values(self, stats: Mapping[str, Any], tag: str, step: int | None) -> None:
        update = int(step if step is not None else stats.get("num_updates", self._updates))
        self._updates, values = update, logged_values.scalars(stats)
        trackio = self._trackio
        if trackio is not None:
            self._try("trackio", lambda: trackio.log(tag, update, values))
        logged_values.append(self._folder, tag, update, values)

    def _write_page(self) -> None:
        begun = time.monotonic()
        try:
            write_page(self._folder)
        finally:
            now = time.monotonic()
            self._next_page = now + SHARE * (now - begun)


class LogFile(logging.FileHandler):
    """Log file whose errors, such as a full disk, print no tracebacks.

    Args:
        path: the log file.
        failed: called with the error of each line that could not be written.
    """

    def __init__(self, path: Path, failed: Callable[[BaseException | None], None]) -> None:
        super().__init__(path, encoding="utf-8")
        self._failed = failed

    def handleError(self, _: logging.LogRecord) -> None:
        """Report a write error; called by `logging` inside its exception handler."""
        self._failed(sys.exc_info()[1])


class WatchedBar:
    """Wrapper around a fairseq progress bar that also passes its values to a callback.

    Args:
        bar: the progress bar.
        logged: the callback; see `Recorder._logged`.
    """

    def __init__(self, bar: Any, logged: Callable[..., None]) -> None:
        self._bar, self._logged = bar, logged

    def __iter__(self) -> Iterator[Any]:
        return iter(self._bar)

    def log(self, stats: Any, tag: str | None = None, step: int | None = None) -> None:
        """Log values during an epoch."""
        self._bar.log(stats, tag=tag, step=step)
        self._logged(stats, tag, step, whole=False)

    def print(self, stats: Any, tag: str | None = None, step: int | None = None) -> None:
        """Log values at the end of an epoch or a validation."""
        self._bar.print(stats, tag=tag, step=step)
        self._logged(stats, tag, step, whole=True)

    def update_config(self, config: Any) -> None:
        """Log the settings."""
        self._bar.update_config(config)


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _data_folders(options: Mapping[str, Any]) -> list[Path]:
    """Return the folders of the training data and of auxiliary data."""
    folders = [
        *str(options.get("data", "")).split(os.pathsep),
        *(options.get(name) for name in ("monolingual", "back_translated")),
    ]
    return [Path(folder).resolve() for folder in folders if folder]
