"""The error that users see as one line."""


class UserError(ValueError):
    """A mistake in what a user asked for. Commands print it as one line, without a traceback.

    The text names the option in back quotes, then what it must be, then what it is.
    """

    one_line = True
