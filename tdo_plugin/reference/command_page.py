"""Every command of `tdo` with its arguments and options, from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tdo_plugin.cli import ALSO, GROUPS, build_parser
from tdo_plugin.reference.markdown_table import OPTION_HEAD, codes, option_rows, page, plain, table

Commands = dict[str, argparse.ArgumentParser]
UNTITLED = ("positional arguments", "options")  # argparse's default group titles


def commands() -> str:
    """Return the page of all commands, grouped as in `tdo --help`."""
    parser = build_parser()
    parts = _parts(parser)
    groups = {
        group: [name for names in lines for name in names.split(", ")]
        for group, lines in GROUPS.items()
    }
    groups["also"] = list(ALSO)
    sections = [
        block
        for group, names in groups.items()
        for block in (f"## {group.capitalize()}", *_sections({name: parts[name] for name in names}))
    ]
    return page(
        "Commands",
        "The option `--help` of each command prints the same. `tdo train` also takes fairseq's "
        "options, those of the [models](model-options.md) and those of [losses and "
        "tasks](training-options.md); "
        "`tdo describe` takes those of the models. `tdo reproduce` also takes the options of its "
        "[file of experiments](experiments.md).",
        table(OPTION_HEAD, option_rows(parser._optionals._group_actions, "tdo")),
        *sections,
    )


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
        yield f"### `{parser.prog}`"
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
