"""Errors that users see as one line."""

import sys

from tdo_compat.errors import one_line


class UserError(ValueError):
    """A user's mistake. Commands print it as one line, without a traceback.

    The message names the option in backquotes, then what it must be, then what it is.
    """

    one_line = True


def line_or_traceback(error: BaseException) -> str:
    """An error as one line; for an internal error also prints its traceback to standard error."""
    line = one_line(type(error), error)
    if line is not None:
        return line
    import traceback  # slow to import, and needed only after an internal error

    traceback.print_exception(error, file=sys.stderr)
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
