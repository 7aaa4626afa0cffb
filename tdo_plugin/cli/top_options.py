"""Options of `tdo` itself that print and exit: versions and shell completion."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHELLS = ("bash", "zsh", "tcsh")


class PrintVersions(argparse.Action):
    """Prints the versions of the packages that affect results, and the commit of a checkout."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        text = "print the installed versions and the commit"
        super().__init__(option_strings, dest, nargs=0, help=text, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print, and exit."""
        from tdo_plugin.runtime.provenance import git_commit, versions

        for name, version in versions().items():
            print(name, version)
        if commit := git_commit():
            print("commit", commit)
        parser.exit()


class PrintCompletion(argparse.Action):
    """Prints a shell script that completes commands and options."""

    def __init__(self, option_strings: list[str], dest: str, **options: Any) -> None:
        text = "print a shell completion script"
        super().__init__(option_strings, dest, choices=SHELLS, help=text, **options)

    def __call__(self, parser: argparse.ArgumentParser, _: Any, shell: Any, *__: Any) -> None:
        """Print, and exit."""
        try:
            import shtab
        except ImportError:
            parser.error(
                f"`{self.option_strings[0]}` requires shtab, which is missing (pip install shtab)"
            )
        for action in _actions(parser):
            if action.type is Path:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab reads it
        print(shtab.complete(parser, shell))
        parser.exit()


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            action.help = None  # shtab skips commands with suppressed help
            for command in action.choices.values():
                yield from _actions(command)
