"""How a field of a specification is an option: declared once, beside the field."""

from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Literal

Needs = Literal["languages", "pairs", "both languages"]


@dataclass(frozen=True)
class Option:
    """What the command line, its checks and the documentation know of a field.

    Attributes:
        flag: such as ``--tdo-laln``.
        help: for ``--help``.
        default: on the command line.
        needs: what a value other than ``off`` needs of the task: how many languages or language
            pairs there are, because the part has parameters for each; or of a batch: both
            languages of every sentence.
        off: the value without the part.
        title: name of the part in tables and messages, where it needs languages or pairs or is
            trained by a loss term.
        trained_by: the loss term that alone trains the part.
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
        help_text: for ``--help``.
        default: of the field; without one a value must be given.
        flag: where it is not ``--tdo-`` and the field's name.
        on_command_line: default there, where it differs.
        needs: as :class:`Option` has it.
        off: likewise.
        title: likewise.
        trained_by: likewise.
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
    """The option that a field is; None for one that the command line does not set."""
    attributes = declared.metadata.get("option")
    if attributes is None:
        return None
    flag = attributes["flag"] or "--tdo-" + declared.name.replace("_", "-")
    return Option(**{**attributes, "flag": flag})


def options_of(specification: Any) -> dict[str, Option]:
    """The options of a dataclass or an instance, by field, in order."""
    pairs = ((declared.name, option_of(declared)) for declared in fields(specification))
    return {name: option for name, option in pairs if option is not None}
