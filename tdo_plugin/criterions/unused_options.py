"""Refuses options that would have no effect."""

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import fields

from fairseq.dataclass import FairseqDataclass

from tdo_plugin.errors import UserError


def reject_unused_options(
    options: Namespace, kind: type[FairseqDataclass], where: str, names: Iterable[str] | None = None
) -> None:
    """Refuse options that differ from their defaults.

    Args:
        options: all parsed options.
        kind: the dataclass that declares them.
        where: why they have no effect, for the message.
        names: some of them; None: all.

    Raises:
        UserError: an option is set.
    """
    defaults = {option.name: option.default for option in fields(kind) if option.name != "_name"}
    for name in defaults if names is None else names:
        value = getattr(options, name, defaults[name])
        if value != defaults[name]:
            raise UserError(f"`--{name.replace('_', '-')}` must not be set {where}; it is {value}")
