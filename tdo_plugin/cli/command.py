"""How a command is declared: its module, the help, and the example at the end of it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import ModuleType
from typing import Any


def declare(commands: Any, name: str, module: ModuleType) -> None:
    """Add a command to those of a parser.

    Args:
        commands: what `add_subparsers` returned.
        name: of the command.
        module: its `HELP`, `EXAMPLE`, `add_arguments` and `run`; a group of commands has no `run`.
            Where it has `check`, that raises UserError for arguments that are wrong whatever is in
            the files that they name.
    """
    parser = commands.add_parser(name, help=module.HELP, description=module.HELP)
    parser.epilog = example(module.EXAMPLE)
    parser.set_defaults(
        run=getattr(module, "run", None), check=getattr(module, "check", None), prog=parser.prog
    )
    module.add_arguments(parser)


def declare_parts(parser: argparse.ArgumentParser, parts: Mapping[str, ModuleType]) -> None:
    """Declare the commands of a group."""
    commands = parser.add_subparsers(dest="part", metavar="PART", required=True)
    for name, module in parts.items():
        declare(commands, name, module)


def example(lines: str) -> str:
    """The end of a command's help."""
    return "\n  ".join(["example:", *lines.strip().splitlines()])
