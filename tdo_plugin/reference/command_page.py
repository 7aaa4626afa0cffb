"""A page for each command of `tdo`, and one that lists them, from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

from tdo_plugin.cli import ALSO, COMMANDS, GROUPS, build_parser
from tdo_plugin.reference.markdown_table import OPTION_HEAD, codes, option_rows, page, plain, table

Commands = dict[str, argparse.ArgumentParser]
UNTITLED = ("positional arguments", "options")  # argparse's default group titles


def commands() -> str:
    """Return the page that lists all commands, grouped as in `tdo --help`, and shared options."""
    parser = build_parser()
    rows = [
        (", ".join(f"[`tdo {name}`](commands/{name}.md)" for name in names.split(", ")), purpose)
        for lines in [*GROUPS.values(), {", ".join(ALSO): "a generated corpus, model sizes, flags"}]
        for names, purpose in lines.items()
    ]
    return page(
        "Commands",
        "Each command has a page; its option `--help` prints the same. `tdo train` also takes "
        "fairseq's options, those of the [models](model-options.md) and those of [losses and "
        "tasks](training-options.md); `tdo describe` takes those of the models. `tdo reproduce` "
        "also takes the options of its [file of experiments](experiments.md).",
        table(("command", "what for"), rows),
        table(OPTION_HEAD, option_rows(parser._optionals._group_actions, "tdo")),
        "## Which command has which option",
        "Options of several commands, which mean the same in each.",
        table(("option", "commands"), _shared(parser)),
    )


def command_pages() -> dict[str, Callable[[], str]]:
    """Return the page of each command, by file name."""
    return {f"commands/{name}.md": partial(_command, name) for name in COMMANDS}


def _command(name: str) -> str:
    parser = build_parser([name])
    return page(f"tdo {name}", *_sections(_parts(parser)))


def _shared(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield each option that several commands have, with the commands."""
    having: dict[str, list[str]] = {}
    for command, leaf in _leaves(parser):
        for action in leaf._actions:
            hidden = action.dest == "help" or action.help == argparse.SUPPRESS
            if action.option_strings and not hidden:
                having.setdefault(action.option_strings[-1], []).append(command)
    for option, names in sorted(having.items()):
        if len(names) > 1:
            links = (f"[{name}](commands/{name.split()[0]}.md)" for name in names)
            yield f"`{option}`", ", ".join(links)


def _leaves(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for part in _parts(parser).values():
        if _parts(part):
            yield from _leaves(part)
        else:
            yield part.prog.removeprefix("tdo "), part


def _parts(parser: argparse.ArgumentParser) -> Commands:
    """Return the direct subcommands of a parser with their parsers."""
    return {
        name: command
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, command in action.choices.items()
    }


def _sections(parts: Commands) -> Iterator[str]:
    for parser in parts.values():
        if parser.prog.count(" ") > 1:  # a part of a command
            yield f"## `{parser.prog}`"
        text = plain(parser.description or "")
        yield f"{text[0].upper()}{text[1:]}."
        inner = _parts(parser)
        if inner:
            yield from _sections(inner)
            continue
        yield f"Example: {codes(str(parser.epilog).splitlines()[1].strip().splitlines())}"
        general = [group for group in parser._action_groups if group.title in UNTITLED]
        actions = [action for group in general for action in group._group_actions]
        yield table(OPTION_HEAD, option_rows(actions, parser.prog))
        for group in parser._action_groups:
            rows = table(OPTION_HEAD, option_rows(group._group_actions, parser.prog))
            if rows and group not in general:
                yield f"{str(group.title).capitalize()}:"
                yield rows
