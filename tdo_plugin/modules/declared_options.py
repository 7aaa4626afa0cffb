"""Declares a field of a specification as a command-line option, next to the field."""

from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Literal

Needs = Literal["languages", "pairs", "both languages"]


@dataclass(frozen=True)
class Option:
    """The properties of an option that the command line, its checks and the reference pages use.

    Attributes:
        flag: such as ``--tdo-laln``.
        help: text for ``--help``.
        default: value on the command line.
        needs: what any value but ``off`` requires: from the task, the number of languages or of
            language pairs (the part has parameters for each); or from a batch, both languages of
            every sentence.
        off: the value that disables the part.
        title: name of the part in tables and messages, for parts that need languages or pairs or
            that a loss term trains.
        trained_by: the only loss term that trains the part.
    """

    flag: str
    help: str
    default: Any
    needs: Needs | None = None
    off: Any = "none"
    title: str = ""
    trained_by: str = ""


def option(
    help_text: str,
    default: Any = MISSING,
    *,
    flag: str = "",
    on_command_line: Any = MISSING,
    needs: Needs | None = None,
    off: Any = "none",
    title: str = "",
    trained_by: str = "",
) -> Any:
    """A dataclass field that is an option.

    Args:
        help_text: text for ``--help``.
        default: of the field; if missing, a value is required.
        flag: if it is not ``--tdo-`` followed by the field's name.
        on_command_line: default on the command line, if it differs.
        needs: as in :class:`Option`.
        off: as in :class:`Option`.
        title: as in :class:`Option`.
        trained_by: as in :class:`Option`.
    """
    shown = default if on_command_line is MISSING else on_command_line
    attributes = {
        "flag": flag,
        "help": help_text,
        "default": shown,
        "needs": needs,
        "off": off,
        "title": title,
        "trained_by": trained_by,
    }
    return field(default=default, metadata={"option": attributes})


def option_of(declared: "Field[Any]") -> Option | None:
    """The option declared by a field; None if the command line does not set the field."""
    attributes = declared.metadata.get("option")
    if attributes is None:
        return None
    flag = attributes["flag"] or "--tdo-" + declared.name.replace("_", "-")
    return Option(**{**attributes, "flag": flag})


def options_of(specification: Any) -> dict[str, Option]:
    """The options of a dataclass or of an instance, by field name, in order."""
    pairs = ((declared.name, option_of(declared)) for declared in fields(specification))
    return {name: option for name, option in pairs if option is not None}
