"""The error that users see as one line."""

import sys

from tdo_compat.errors import one_line


class UserError(ValueError):
    """A mistake in what a user asked for. Commands print it as one line, without a traceback.

    The text names the option in back quotes, then what it must be, then what it is.
    """

    one_line = True


def line_or_traceback(error: BaseException) -> str:
    """An error in one line; a fault of the program leaves its traceback on standard error too."""
    line = one_line(type(error), error)
    if line is not None:
        return line
    import traceback  # slow to import, and wanted after a fault alone

    traceback.print_exception(error, file=sys.stderr)
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
