"""Declaration of a command from its module: options, help, and an example as its epilog."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import ModuleType
from typing import Any


def declare(commands: Any, name: str, module: ModuleType) -> None:
    """Add a command to a parser.

    Args:
        commands: the object that `add_subparsers` returned.
        name: the command's name.
        module: has `HELP`, `EXAMPLE`, `add_arguments` and `run`; a group of commands has no `run`.
            An optional `check` raises UserError for arguments that are wrong regardless of the
            contents of the files that they name.
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
    """The epilog of a command's help."""
    return "\n  ".join(["example:", *lines.strip().splitlines()])
