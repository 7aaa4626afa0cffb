"""The ``tdo`` command. Every sub-command is a module of this package, listed in ``COMMANDS``.

A command module has ``HELP``, ``add_arguments(parser)`` and ``run(args) -> exit code``; it imports
heavy things inside ``run``, so that ``tdo --help`` stays fast.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from tdo_compat.errors import CLOSED, named_when_full, one_line, reader_is_gone, tell
from tdo_plugin.launch.parser import Parser
from tdo_plugin.runtime.processes import end_with_parent
from tdo_plugin.runtime.signals import ended_by_signal

COMMANDS = (
    "doctor",
    "ablate",
    "allocate",
    "analyze",
    "average",
    "backtranslate",
    "bench",
    "collect",
    "convert",
    "corpus",
    "curve",
    "describe",
    "estimate",
    "extend",
    "flags",
    "generate",
    "grid",
    "importance",
    "inspect",
    "monolingual",
    "prepare",
    "preprocess",
    "probe",
    "report",
    "reproduce",
    "score",
    "score-lm",
    "train",
    "translate",
)
RENAMED = {"erase": "ablate"}  # names of commands that older versions had; they go on for one more


def build_parser() -> argparse.ArgumentParser:
    """The parser of ``tdo`` with all sub-commands."""
    parser = Parser(
        prog="tdo", description="Multilingual translation with decoder-only and two-stage models."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = import_module(f"tdo_plugin.cli.{name.replace('-', '_')}")
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tdo`` with ``argv`` (default: the process' own arguments).

    Returns:
        The exit code: the command's own, 2 for a user's mistake or a lack of memory, 130 for an
        interrupt, 141 where nobody reads the output any more, as with ``| head``. SIGTERM ends it
        by SystemExit, with 143.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in RENAMED:
        tell(f"tdo {words[0]}: warning: it is called tdo {RENAMED[words[0]]} now")
        words[0] = RENAMED[words[0]]
    end_with_parent()
    args = build_parser().parse_args(words)
    try:
        with ended_by_signal(f"tdo {args.command}"):
            code = int(args.run(args))
        with named_when_full("standard output"):
            print(end="", flush=True)  # a reader that is gone shows here at the latest
        return code
    except BaseException as error:
        if isinstance(error, BrokenPipeError) and reader_is_gone():
            return CLOSED
        line = one_line(type(error), error)
        if line is None:
            raise
        tell(f"tdo {args.command}: error: {line}")
        return 130 if isinstance(error, KeyboardInterrupt) else 2
