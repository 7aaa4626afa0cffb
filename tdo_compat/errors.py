"""Prints errors that users can fix, and interrupts, as one line instead of a traceback.

``patches`` installs it when fairseq is imported. Exception classes request the single line by a
true ``one_line``.
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

TRACEBACK = "TDO_TRACEBACK"  # environment variable: 1 keeps every traceback

# A path that the user gave cannot be read or written.
PLACES = (
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG),
    *(errno.EACCES, errno.EPERM, errno.EROFS),
)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # disk, quota or file size limit exceeded
CLOSED = 128 + 13  # the exit code that a shell shows for a program that SIGPIPE ended

LONGEST = 4000  # maximum characters of a message; longer ones keep their beginning and end
BEGIN, END = 1500, 500

NEAR = 0.6  # minimum similarity of a suggested name to a mistyped one
UNKNOWN = "unrecognized arguments: "  # prefix of argparse's message about unknown options
# end of its message about an option without a value, or without any
_NO_VALUE = re.compile(r"expected (at least )?one argument$")
_OPTION = re.compile(r"^argument (\S+): (?=must )")  # prefix before a message in our own form

# Users' mistakes that fairseq itself reports with a traceback.
STOCK_MISTAKES = (
    "Dataset not found",
    "Model file not found",
    "Cannot load model parameters from checkpoint",
    "Error(s) in loading state_dict",
    "The dataset is empty",
    "Duplicate word found when loading Dictionary",
    "Incorrect dictionary format",
    "Incorrect encoding detected",
    "Must specify batch size",
    "AdaptiveLoss is not compatible",
)

# torch's messages if memory of a GPU or the machine is exhausted. The third is of cuBLAS and cuDNN,
# the last one is about a process that loads batches.
NO_MEMORY = (
    *("out of memory", "allocate memory", "_STATUS_ALLOC_FAILED"),
    "is killed by signal: Killed",
)
NO_MEMORY_TYPES = ("OutOfMemoryError", "MemoryError")


@contextlib.contextmanager
def named_when_full(path: os.PathLike[str] | str) -> Iterator[None]:
    """Add the name of the file that was written to the error of a full disk, which lacks it.

    Args:
        path: of the file, or of the folder if there are many.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(path)
        raise


def lacks_memory(error: BaseException) -> bool:
    """Whether the error means that memory is exhausted."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and _says_no_memory(type(error).__name__, str(error))


def _says_no_memory(cls: str, text: str) -> bool:
    return cls.endswith(NO_MEMORY_TYPES) or any(words in text for words in NO_MEMORY)


def _no_memory(cls: str, text: str) -> str:
    reason = text.partition("\n")[0].rstrip(".") or cls
    return f"not enough memory: {reason}; `{TRACEBACK}=1` shows where"


def bounded(text: str) -> str:
    """A message for printing: one line of limited length, without control characters.

    Messages quote files and command lines of any size and content. The middle of a long message is
    omitted, since it begins with the problem and ends with the advice.
    """
    line = escaped(text[: LONGEST + 1])
    if len(text) <= LONGEST and len(line) <= LONGEST:
        return line
    begin, end = line[:BEGIN], escaped(text[-END:])[-END:]
    return f"{begin} [... {len(text):,} characters in all ...] {end}"


def tell(line: str) -> None:
    """Print a message to standard error."""
    print(bounded(line), file=sys.stderr, flush=True)


def escaped(text: str) -> str:
    """The text with unprintable characters escaped as in Python strings."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def one_line(kind: type[BaseException], value: BaseException) -> str | None:
    """The line to print for an exception, or None if it should have its traceback."""
    if os.environ.get(TRACEBACK) == "1":
        return None
    line = _line(kind, value)
    return None if line is None else bounded(line)


def _line(kind: type[BaseException], value: BaseException) -> str | None:
    text = str(value)
    if getattr(kind, "one_line", False):
        return _of_process(text)
    if text.startswith(STOCK_MISTAKES):
        # fairseq's trainer hides the model's reason behind an error of its own
        reason = value.__context__
        if getattr(type(reason), "one_line", False):
            return f"{text.partition(';')[0]}: {reason}"
        if reason is not None and lacks_memory(reason):
            return _no_memory(type(reason).__name__, str(reason))
        return " ".join(text.split("\n\t")[:2])
    if issubclass(kind, KeyboardInterrupt):
        return "; ".join(["interrupted", *map(str, value.args)])  # what is kept, if known
    if isinstance(value, OSError) and value.errno in PLACES and isinstance(value.filename, str):
        return f"{value.filename}: {value.strerror}"
    if isinstance(value, OSError) and value.errno in FULL:
        return f"{value.filename}: {value.strerror}" if value.filename else str(value.strerror)
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
    """The message alone, from torch's error about a process that loads data."""
    if not text.startswith("Caught ") or "\nOriginal Traceback" not in text:
        return text
    return text.strip().rpartition("\n")[2].partition(": ")[2]


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """The end of a message about a mistyped name: a suggestion, or nothing if none is similar."""
    from difflib import get_close_matches  # slow to import, and needed only after a mistake

    bare = {name.lstrip("-"): name for name in names}  # dashes would make all options similar
    near = get_close_matches(word.lstrip("-"), bare, n=1, cutoff=NEAR)
    return f"; did you mean {bare[near[0]]}?" if near else ""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose errors are one line, without the usage of hundreds of options.

    Errors about a mistyped option or choice suggest the most similar one.
    """

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        self.exit(2, f"{self.prog}: error: {bounded(self.worded(message))}\n")

    def worded(self, message: str) -> str:
        """argparse's message in the form that all messages have."""
        if message.startswith(UNKNOWN):
            option = message.removeprefix(UNKNOWN).split()[0].partition("=")[0]
            return message + did_you_mean(option, _options_of(self))
        message = _NO_VALUE.sub("must have a value; it has none", message)
        return _OPTION.sub(r"`\1` ", message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As argparse's, with a message in our form."""
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        raise argparse.ArgumentError(
            action,
            f"must be one of {', '.join(names)}; it is {value}{did_you_mean(str(value), names)}",
        )


def _options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a parser and of its subcommands."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _options_of(command)


def reader_is_gone() -> bool:
    """Whether standard output is a pipe without a reader; if so, remaining output is discarded.

    ``one_line`` does not handle this: a broken pipe to a worker process or another machine looks
    the same, and needs its traceback.
    """
    output = select.poll()
    try:
        output.register(sys.stdout, 0)
    except (OSError, ValueError):  # not a file: captured by a test or a notebook
        return False
    if not output.poll(0):
        return False
    # Python flushes again when it exits, and would complain then
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return True


def print_line(line: str) -> None:
    """Print a line to standard output and flush, for programs that read it interactively.

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
    """Install a ``sys.excepthook`` that passes other errors to the present one."""
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
