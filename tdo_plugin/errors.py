"""The error that users see as one line."""


class UserError(ValueError):
    """A mistake in what a user asked for. Commands print it as one line, without a traceback.

    The text names the option in back quotes, then what it must be, then what it is.
    """

    one_line = True


def check_seed(seed: int) -> None:
    """Raise UserError for a seed that torch's generators do not take."""
    if not 0 <= seed < 2**63:
        raise UserError(f"`--seed` must be from 0 to 2**63 - 1; it is {seed}")
