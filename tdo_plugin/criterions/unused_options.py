"""Options that would do nothing are refused."""

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import fields

from fairseq.dataclass import FairseqDataclass

from tdo_plugin.errors import UserError


def reject_unused_options(
    options: Namespace, kind: type[FairseqDataclass], where: str, names: Iterable[str] | None = None
) -> None:
    """Refuse options that are not their defaults.

    Args:
        options: all of the command line.
        kind: what declares them.
        where: what makes them do nothing, for the message.
        names: some of them; None: all.

    Raises:
        UserError: one is given.
    """
    defaults = {option.name: option.default for option in fields(kind) if option.name != "_name"}
    for name in defaults if names is None else names:
        value = getattr(options, name, defaults[name])
        if value != defaults[name]:
            raise UserError(f"`--{name.replace('_', '-')}` must be left out {where}; it is {value}")
