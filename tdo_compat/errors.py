"""Errors that users can fix, and interrupts, as one line instead of a traceback.

``patches`` installs it when fairseq is imported. An exception class asks for the one line by a true
``one_line``.
"""

import argparse
import contextlib
import errno
import os
import re
import select
import sys
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, NoReturn

TRACEBACK = "TDO_TRACEBACK"  # set to 1, it keeps every traceback

# A place that the user named cannot be read or written.
PLACES = (
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG),
    *(errno.EACCES, errno.EPERM, errno.EROFS),
)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # of the disk, the user's share, the limit
CLOSED = 128 + 13  # the exit code that a shell shows for a program that SIGPIPE ended

LONGEST = 4000  # characters of a message; a longer one keeps its begin and its end
BEGIN, END = 1500, 500

NEAR = 0.6  # similarity from which on a name may be what a mistyped one meant
UNKNOWN = "unrecognized arguments: "  # how argparse begins about options that are none
_OPTION = re.compile(r"^argument (\S+): (?=must )")  # and about a value, where its type says why

# Users' mistakes that fairseq itself reports with a traceback.
STOCK_MISTAKES = (
    "Dataset not found",
    "Model file not found",
    "Cannot load model parameters from checkpoint",
    "Error(s) in loading state_dict",
    "The dataset is empty",
    "Duplicate word found when loading Dictionary",
    "Incorrect dictionary format",
    "Must specify batch size",
)

# How torch says that memory of a GPU or machine did not suffice; the last is cuBLAS's and cuDNN's.
NO_MEMORY = ("out of memory", "allocate memory", "_STATUS_ALLOC_FAILED")
NO_MEMORY_TYPES = ("OutOfMemoryError", "MemoryError")


@contextlib.contextmanager
def named_when_full(path: os.PathLike[str] | str) -> Iterator[None]:
    """Let the error of a full disk say what was written; by itself it names no file.

    Args:
        path: of the file, or of the folder where there are many.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(path)
        raise


def lacks_memory(error: BaseException) -> bool:
    """Whether memory did not suffice."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and _says_no_memory(type(error).__name__, str(error))


def _says_no_memory(cls: str, text: str) -> bool:
    return cls.endswith(NO_MEMORY_TYPES) or any(words in text for words in NO_MEMORY)


def _no_memory(cls: str, text: str) -> str:
    reason = text.partition("\n")[0].rstrip(".") or cls
    return f"memory does not suffice: {reason}; `{TRACEBACK}=1` shows where"


def bounded(text: str) -> str:
    """A message as it may be printed: one line of bounded length, without control characters.

    What a message quotes comes from files and command lines, of whatever size and bytes. The middle
    is what is left out, since a message begins with what is wrong and ends with what to do.
    """
    line = _escaped(text[: LONGEST + 1])
    if len(text) <= LONGEST and len(line) <= LONGEST:
        return line
    begin, end = line[:BEGIN], _escaped(text[-END:])[-END:]
    return f"{begin} [... {len(text):,} characters in all ...] {end}"


def tell(line: str) -> None:
    """Print a message to standard error, where all of them go."""
    print(bounded(line), file=sys.stderr, flush=True)


def _escaped(text: str) -> str:
    """The text with what is not printable as Python writes it in a string."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def one_line(kind: type[BaseException], value: BaseException) -> str | None:
    """The line to print for an exception, or None where the traceback is wanted."""
    if os.environ.get(TRACEBACK) == "1":
        return None
    line = _line(kind, value)
    return None if line is None else bounded(line)


def _line(kind: type[BaseException], value: BaseException) -> str | None:
    text = str(value)
    if getattr(kind, "one_line", False):
        return _of_process(text)
    if text.startswith(STOCK_MISTAKES):
        # fairseq's trainer hides the reason that a model gives behind one of its own
        reason = value.__context__
        if getattr(type(reason), "one_line", False):
            return f"{text.partition(';')[0]}: {reason}"
        if reason is not None and lacks_memory(reason):
            return _no_memory(type(reason).__name__, str(reason))
        return " ".join(text.split("\n\t")[:2])
    if issubclass(kind, KeyboardInterrupt):
        return "interrupted"
    if isinstance(value, OSError) and value.errno in PLACES and isinstance(value.filename, str):
        return text
    if isinstance(value, OSError) and value.errno in FULL:
        return text
    if isinstance(value, ModuleNotFoundError) and value.name in ("fairseq", "fairseq_cli"):
        return "`fairseq` must be installed; it is not (tdo setup)"
    if lacks_memory(value):
        return _no_memory(kind.__name__, text)
    if kind.__name__ == "ProcessRaisedException":  # torch's spawn passes a worker's error as text
        name, _, message = text.strip().rpartition("\n")[2].partition(": ")
        module, _, cls = name.rpartition(".")
        if getattr(getattr(sys.modules.get(module), cls, None), "one_line", False):
            return message
        if _says_no_memory(cls, message):
            return _no_memory(cls, message)
    return None


def _of_process(text: str) -> str:
    """The message alone, of what torch hands on from a process that loads data."""
    if not text.startswith("Caught ") or "\nOriginal Traceback" not in text:
        return text
    return text.strip().rpartition("\n")[2].partition(": ")[2]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """The end of a message about a mistyped name: a guess, or nothing where no name is near."""
    from difflib import get_close_matches  # slow to import, and wanted after a mistake alone

    bare = {name.lstrip("-"): name for name in names}  # dashes would make all options alike
    near = get_close_matches(word.lstrip("-"), bare, n=1, cutoff=NEAR)
    return f"; did you mean {bare[near[0]]}?" if near else ""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose complaints are one line, without the usage of hundreds of options.

    A mistyped option or choice is answered with the nearest one.
    """

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        self.exit(2, f"{self.prog}: error: {bounded(self.worded(message))}\n")

    def worded(self, message: str) -> str:
        """What argparse complains of, in the form that all messages have."""
        if message.startswith(UNKNOWN):
            option = message.removeprefix(UNKNOWN).split()[0].partition("=")[0]
            return message + did_you_mean(option, _options_of(self))
        return _OPTION.sub(r"`\1` ", message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As argparse's, with a message of our form."""
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        raise argparse.ArgumentError(
            action,
            f"must be one of {', '.join(names)}; it is {value}{did_you_mean(str(value), names)}",
        )


def _options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a parser and of its commands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _options_of(command)


def reader_is_gone() -> bool:
    """Whether standard output is a pipe that nobody reads any more; what is left goes nowhere then.

    It is not for ``one_line`` to know a gone reader: a broken pipe to a worker process or another
    machine looks the same, and is a fault whose traceback is wanted.
    """
    output = select.poll()
    try:
        output.register(sys.stdout, 0)
    except (OSError, ValueError):  # no file: what a test or a notebook captures
        return False
    if not output.poll(0):
        return False
    # Python writes what is left once more when it ends, and would complain then
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return True


def print_line(line: str) -> None:
    """Print to standard output at once, for programs that wait with it, as between two questions.

    Raises:
        SystemExit: the reader is gone.
    """
    try:
        print(line, flush=True)
    except BrokenPipeError:
        if not reader_is_gone():
            raise
        raise SystemExit(CLOSED) from None


def install() -> None:
    """Put it before the present ``sys.excepthook``, which gets what is not a user's mistake."""
    previous = sys.excepthook

    def excepthook(
        kind: type[BaseException], value: BaseException, traceback: TracebackType | None
    ) -> None:
        line = one_line(kind, value)
        if line is None:
            previous(kind, value, traceback)
        else:
            tell(f"error: {line}")

    sys.excepthook = excepthook
