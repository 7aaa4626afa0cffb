"""Makes distributed workers end together, and torchrun report why.

``training_patches`` installs these functions in fairseq and torchrun.
"""

import contextlib
import functools
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import torch
from torch.multiprocessing.spawn import ProcessExitedException

from tdo_compat import hooks
from tdo_compat.errors import TRACEBACK, one_line, tell
from tdo_compat.shutdown import ENDED, SIGNALS, going_on

NCCL = "nccl"  # fairseq's default --distributed-backend
NO_BACKEND = "`--distributed-backend` must be gloo for several workers without GPUs; it is nccl"
WHY = "tdo_plugin/why"  # key in the workers' store: the message of the first failure
EVERY = 1.0  # seconds between checks
GRACE = 10.0  # seconds that workers have to end after the store is gone
SHUTDOWN = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"  # seconds that torchrun gives workers to end
# messages of gloo and nccl about a lost connection
LOST = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Broken pipe",
    "remote process exited",
)


class NoBackend(ValueError):
    """The back-end of the workers needs GPUs. Shown as one line, without a traceback."""

    one_line = True


class LostWorker(RuntimeError):
    """Another worker disappeared. Shown as one line, without a traceback."""

    one_line = True


def end_together(module: Any) -> None:
    """Make the failure of one worker end all of them, instead of leaving the others waiting.

    A thread in each worker checks the store of the process group once per second.

    Args:
        module: fairseq.distributed.utils, changed in place.
    """
    init, main = module.distributed_init, module.distributed_main
    finished = threading.Event()

    @functools.wraps(init)
    def distributed_init(cfg: Any) -> Any:
        if cfg.distributed_training.distributed_backend == NCCL and _lacks_gpus(cfg.common):
            raise NoBackend(NO_BACKEND)
        rank = init(cfg)
        finished.clear()
        watch = functools.partial(_watch, _own_store(), _launcher(), finished)
        threading.Thread(target=watch, daemon=True).start()
        return rank

    @functools.wraps(main)
    def distributed_main(i: int, function: Any, cfg: Any, kwargs: Any) -> Any:
        try:
            return main(i, function, cfg, kwargs)
        except Exception as error:
            finished.set()
            if not torch.distributed.is_initialized():
                raise
            lost = _lost(error, cfg)
            why = one_line(type(lost), lost) or f"{type(lost).__name__}: {lost}"
            if not _is_first(_store(), why):
                _leave(_first_says(_store()))
            raise lost from (None if lost is error else error)
        finally:
            finished.set()

    module.distributed_init, module.distributed_main = distributed_init, distributed_main


def _lacks_gpus(common: Any) -> bool:
    """Whether workers that have not connected yet have no GPUs."""
    if common.tpu or torch.distributed.is_initialized():
        return False
    return bool(common.cpu or not torch.cuda.is_available())


def _store() -> Any:
    return torch.distributed.distributed_c10d._get_default_store()


def _launcher() -> int | None:
    """The launcher, which ends with its workers (torchrun, or a process that spawned them)."""
    spawned = multiprocessing.parent_process() is not None
    return os.getppid() if spawned or torch.distributed.is_torchelastic_launched() else None


def _own_store() -> Any:
    """The same store over a separate connection: torch blocks one while it waits for a key."""
    store = _store()
    return store.clone() if hasattr(store, "clone") else store  # older torch versions have none


def _lost(error: Exception, cfg: Any) -> Exception:
    """The error itself, or a LostWorker if it results from another worker's end."""
    reason = next((text for text in LOST if text in str(error)), None)
    if reason is None or not isinstance(error, RuntimeError):
        return error
    rank = torch.distributed.get_rank()
    return LostWorker(f"the worker of rank {rank} lost another worker ({reason}); {going_on(cfg)}")


def _is_first(store: Any, why: str) -> bool:
    """Report a failure to the others, unless another has already failed."""
    mine = f"{torch.distributed.get_rank()} {os.environ.get('GROUP_RANK')} {why}"
    try:
        return bool(store.compare_set(WHY, "", mine).decode() == mine)
    except RuntimeError:  # the store is gone with the machine that held it
        return True


def _first_says(store: Any) -> str | None:
    """The message of the first failure, if this worker should print it on its machine.

    The hook that records the training gets the message in any case.
    """
    _, machine, why = store.get(WHY).decode().split(" ", 2)
    if hooks.failed_elsewhere is not None:
        hooks.failed_elsewhere(why)
    here = machine == str(os.environ.get("GROUP_RANK"))
    return None if here or os.environ.get("LOCAL_RANK") != "0" else why


def _watch(store: Any, launcher: int | None, finished: threading.Event) -> None:
    """End this process when another worker has failed, or the launcher is gone."""
    while not finished.wait(EVERY):
        try:
            if launcher is not None and os.getppid() != launcher:
                rank = torch.distributed.get_rank()
                why = f"the launcher of the worker of rank {rank} has disappeared"
                _leave(why if _is_first(store, why) else _first_says(store))
            if store.check([WHY]):
                _leave(_first_says(store))
        except RuntimeError:
            if not finished.wait(GRACE):
                _leave("the first machine of this training is gone")


def _leave(why: str | None) -> NoReturn:
    if why is not None:
        tell(f"error: {why}")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def at_same_position(state: dict[str, Any]) -> dict[str, Any]:
    """A checkpoint whose position in the epoch is for the present number of workers.

    fairseq counts the batches of one worker. The position is exact if the batches done, of all
    workers, can be divided among the present ones; otherwise the last few are repeated.

    Args:
        state: of the checkpoint, changed in place.
    """
    training = (state.get("cfg") or {}).get("distributed_training") or {}
    is_several = torch.distributed.is_initialized()
    now = torch.distributed.get_world_size() if is_several else 1
    before = training.get("distributed_world_size") or now
    position = (state.get("extra_state") or {}).get("train_iterator")
    if position:
        position["iterations_in_epoch"] = position.get("iterations_in_epoch", 0) * before // now
    return state


# --- fairseq-train that spawns its workers -----------------------------------------------------


def handing_signals_on(spawn: Callable[..., Any]) -> Callable[..., Any]:
    """``torch.multiprocessing.spawn`` that passes signals on to the workers."""

    @functools.wraps(spawn)
    def handing_on(*args: Any, **options: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            return spawn(*args, **options)  # not the main thread, which handles signals
        signals: list[int] = []

        def tell(number: int, _: Any) -> None:
            signals.append(number)
            for worker in multiprocessing.active_children():
                with contextlib.suppress(ProcessLookupError):
                    assert worker.pid is not None  # it has started
                    os.kill(worker.pid, number)

        before = {number: signal.signal(number, tell) for number in SIGNALS}
        try:
            return spawn(*args, **options)
        except ProcessExitedException as error:
            if not signals or not _is_signals([error.exit_code]):
                raise
            raise SystemExit(ENDED) from None
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    return handing_on


def _is_signals(codes: list[int | None]) -> bool:
    """Whether the workers' exit codes show that only a signal has ended them."""
    return all(code is None or code in (0, ENDED) or code < 0 for code in codes)


# --- torchrun ----------------------------------------------------------------------------------


def end_like_workers(module: Any) -> None:
    """Make torchrun end in the same way as its fairseq-train: with a line and its exit code.

    Args:
        module: torch.distributed.run, changed in place.
    """
    original = module.main

    @functools.wraps(original)
    def main(args: Any = None) -> None:
        words = sys.argv[1:] if args is None else args
        if all(os.path.basename(word) != "fairseq-train" for word in words):
            original(args)
            return
        if "--cpu" in words and _backend(words) == NCCL:  # reported once, not by each worker
            tell(f"error: {NO_BACKEND}")
            raise SystemExit(1)
        os.environ.setdefault(SHUTDOWN, "100")  # to complete an update and write a checkpoint
        _run(original, args)

    module.main = main


def _backend(words: Sequence[str]) -> str:
    """The --distributed-backend of a command line."""
    option, backend = "--distributed-backend", NCCL
    for word, behind in zip(words, [*words[1:], ""], strict=True):
        name, _, value = word.partition("=")
        if name == option:
            backend = value or behind
    return backend


def _run(original: Callable[[Any], None], args: Any) -> None:
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.elastic.rendezvous import RendezvousConnectionError, RendezvousError

    codes: list[int | None] = []
    try:
        with _noting_codes(codes), _answering_sigusr1():
            original(args)
    except (SignalException, ChildFailedError, RendezvousError) as error:
        if os.environ.get(TRACEBACK) == "1":
            raise
        if isinstance(error, SignalException):
            code, line = _after_signal(error.sigval, codes), None
        elif isinstance(error, RendezvousConnectionError):
            code, line = _without_others(error, codes)
        elif isinstance(error, RendezvousError):
            code, line = 1, f"the machines cannot connect to each other: {error}"
        else:
            code, line = _of_worker(*error.get_first_failure())
        if line is not None:
            tell(line if code == ENDED else f"error: {line}")
        raise SystemExit(code) from None


@contextlib.contextmanager
def _noting_codes(codes: list[int | None]) -> Iterator[None]:
    """Record the exit codes of torchrun's workers, which torch loses at a signal."""
    from torch.distributed.elastic.multiprocessing.api import SubprocessContext

    close = SubprocessContext.close

    @functools.wraps(close)
    def noting(self: Any, *args: Any, **options: Any) -> None:
        close(self, *args, **options)
        codes[:] = [handler.proc.returncode for handler in self.subprocess_handlers.values()]

    SubprocessContext.close = noting  # type: ignore[method-assign]
    try:
        yield
    finally:
        SubprocessContext.close = close  # type: ignore[method-assign]


@contextlib.contextmanager
def _answering_sigusr1() -> Iterator[None]:
    """Handle SIGUSR1 as torch handles SIGTERM: pass it to the workers and wait for their end."""
    from torch.distributed.elastic.multiprocessing.api import SignalException

    def end(number: int, _: Any) -> NoReturn:
        raise SignalException(f"got signal {number}", sigval=signal.Signals(number))

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGUSR1, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def _after_signal(number: int, codes: list[int | None]) -> int:
    """The exit code after a signal: ENDED, unless all workers had finished, or one failed."""
    if number not in SIGNALS:
        return 128 + number
    if codes and all(code == 0 for code in codes):
        return 0
    return next((code for code in codes if not _is_signals([code])), None) or ENDED


def _without_others(error: Exception, codes: list[int | None]) -> tuple[int, str | None]:
    """The exit code if the rendezvous machine is gone, and a line unless the work was done.

    At a signal all workers end after the same update, and that machine may be the first to leave.
    Or torchrun has ended its own workers because it lost that machine.
    """
    code = _after_signal(signal.SIGTERM, codes) if codes and set(codes) <= {0, ENDED} else 1
    cause = str(error.__cause__ or error).partition("\n")[0]
    line = f"the rendezvous machine has ended, or does not answer: {cause}"
    return code, line if code else None


def _of_worker(rank: int, failure: Any) -> tuple[int, str | None]:
    """The exit code for a worker's, and a line if the worker could not print one."""
    if failure.exitcode >= 0:
        return failure.exitcode, None
    number = -failure.exitcode
    hint = " (a machine that is out of memory sends it)" if number == signal.SIGKILL else ""
    line = f"{signal.Signals(number).name}{hint} has ended the worker of rank {rank}"
    return 128 + number, line
