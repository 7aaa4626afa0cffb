"""Batches are loaded by a thread, and by processes, that end with the iterator that reads them.

``training_patches`` installs these functions in fairseq's iterators.
"""

import ctypes
import functools
import gc
import math
import os
import signal
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from tdo_compat.shutdown import SIGNALS


def end_with_reader(iterators: Any) -> None:
    """Make a validation's batches the property of who reads them, with all that loads them.

    A validation with ``--max-valid-steps`` does not read its batches to their end. In fairseq they
    then stay: the data set's iterator keeps them, in a cycle, and a buffer's thread waits forever
    to hand over its next batch. So do the processes that load them. At the end of its batches the
    memory that it has freed is returned, which bounds what the C library keeps.

    Args:
        iterators: fairseq's module, changed in place.
    """
    next_epoch_itr = iterators.EpochBatchIterator.next_epoch_itr

    @functools.wraps(next_epoch_itr)
    def lent(self: Any, *args: Any, set_dataset_epoch: bool = True, **options: Any) -> Any:
        batches = next_epoch_itr(self, *args, set_dataset_epoch=set_dataset_epoch, **options)
        if not set_dataset_epoch:  # only in validation, where nobody asks it how far it has come
            self._cur_epoch_itr = None
            weakref.finalize(batches, trim_heap).atexit = False
        return batches

    class Buffered(iterators.BufferedIterator):  # type: ignore[misc]
        def _create_consumer(self) -> None:
            super()._create_consumer()
            weakref.finalize(self, _end, self._consumer, self._queue).atexit = False

    iterators.EpochBatchIterator.next_epoch_itr = lent
    iterators.BufferedIterator = Buffered


def _end(thread: Any, queue: Any) -> None:
    thread._max_len = 0  # the batch that it waits to hand over is its last
    queue.maxsize = math.inf
    if thread is threading.current_thread():  # it collects garbage, perhaps holding the mutex
        return
    with queue.mutex:
        queue.not_full.notify_all()
    thread.join()


def trim_heap() -> None:
    """Return the memory that the C library keeps, but that nothing uses, to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc
    if trim is not None:
        trim(0)


def obedient_loader(loader: Any) -> Any:
    """A ``DataLoader`` whose processes end only by their trainer, not by other SIGTERMs.

    torchrun and Slurm may signal all processes, while the trainer needs the loading processes until
    its update is done. They inherit blocked signals, so that there is no unprotected moment.

    They must not collect the trainer's garbage. A fork inherits it, such as the last epoch's
    iterator, and Python may collect it in the new process: pinned batches then call a GPU that a
    fork cannot use, which aborts it, and the old iterator waits for processes that are not its
    children. Freed memory that the C library keeps is returned first: a process that inherits it
    would have a copy of its own as soon as the trainer uses it again.

    They end with the last batch. fairseq requests processes that outlive an epoch, or counts
    batches and never reads the end. It leaves both to Python's garbage collection, when torch can
    no longer reach its processes and waits five seconds for them: in every epoch, every validation,
    and every set that is decoded.
    """

    class Loader(loader):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            options["persistent_workers"] = False
            super().__init__(*args, worker_init_fn=_begin_to_load, **options)

        def __iter__(self) -> Any:
            if self.num_workers:
                trim_heap()
            before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            collects = gc.isenabled()
            gc.disable()
            try:
                return _let_go_at_end(super().__iter__(), len(self))
            finally:
                if collects:
                    gc.enable()
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return Loader


def _let_go_at_end(iterator: Any, count: int) -> Iterator[Any]:
    """The same ``count`` batches; releases the iterator before the last batch is yielded."""
    for left in reversed(range(count)):
        batch = next(iterator)
        if not left:
            del iterator
        yield batch


def _begin_to_load(_: int) -> None:
    """Collect no inherited garbage, and accept signals only from the parent.

    torch also uses SIGTERM to end the process, so the sender decides.
    """
    gc.freeze()
    gc.enable()
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # not inherited from a fork server

    def obey() -> None:
        while signal.sigwaitinfo(SIGNALS).si_pid != os.getppid():
            pass
        os._exit(0)

    threading.Thread(target=obey, daemon=True).start()
