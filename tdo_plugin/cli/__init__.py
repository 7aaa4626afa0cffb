"""The ``tdo`` command. Every sub-command is a module of this package, listed in ``GROUPS``.

A command module has ``HELP``, ``EXAMPLE``, ``add_arguments(parser)`` and ``run(args) -> exit
code``; it imports heavy packages inside ``run``, so that ``tdo --help`` stays fast.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

from tdo_compat.errors import CLOSED, named_when_full, one_line, reader_is_gone, tell
from tdo_plugin.cli.command import declare
from tdo_plugin.cli.top_options import PrintCompletion, PrintVersions
from tdo_plugin.launch.parser import Parser
from tdo_plugin.runtime.processes import end_with_parent
from tdo_plugin.runtime.signals import ended_by_signal

# The lines of `tdo --help`: command names and their purpose. It must fit on a screen of 80 x 40.
GROUPS = {
    "start": {
        "start, quickstart": "from your own text, or a toy, to a report",
        "setup, doctor": "install fairseq; what is wrong, its fix",
    },
    "data": {
        "prepare, preprocess": "make a corpus or text ready for training",
        "inspect": "sizes, lengths, batches of a data folder",
        "monolingual, backtranslate": "extra training data from monolingual text",
    },
    "train": {
        "train, resume, estimate": "train a config's system; its GPU hours",
        "average": "average checkpoints into one model",
        "extend, convert": "start from another model",
    },
    "translate": {
        "translate, serve": "translate text or test sets; a web page",
        "score-lm": "perplexity of sentence pairs or text",
        "export": "a model for Hugging Face or CTranslate2",
    },
    "evaluate": {
        "score": "BLEU, chrF++, COMET, off-target rates",
        "report": "scores as tables and one HTML page",
        "compare": "significance tests by paired bootstrap",
        "curve": "losses, scores over updates or a setting",
    },
    "understand": {
        "probe": "position information in hidden states",
        "explain, preference": "attention of a sentence; state languages",
        "neurons": "importance, allocation, ablation",
    },
    "reproduce": {
        "reproduce": "tables and figures of papers or your own",
        "bench": "speed and memory compared with fairseq",
    },
}
ALSO = ("corpus", "describe", "flags", "collect")
COMMANDS = (
    *(name for lines in GROUPS.values() for names in lines for name in names.split(", ")),
    *ALSO,
)
# Old name to current name. A name still in use, such as `curve`, counts as old only if none of the
# words in `NOT_OLD` follows it.
RENAMED = {
    "analyze neurons": "neurons draw",
    "analyze preference": "preference",
    "analyze sweep": "curve sweep",
    "importance": "neurons importance",
    "allocate": "neurons allocate",
    "ablate": "neurons ablate",
    "erase": "neurons ablate",
    "curve": "curve updates",
}
# Removed commands, and what replaces them.
GONE = {
    "generate": "translate DATA --path CHECKPOINT --out OUT --engine fairseq, without CONFIG",
    "grid": "reproduce FILE TABLE, where a table of FILE has axes",
}
NOT_OLD = {"curve": ("training", "updates", "losses", "sweep", "-h", "--help")}


def build_parser(
    names: Iterable[str] = COMMANDS, kind: type[Parser] = Parser
) -> argparse.ArgumentParser:
    """The parser of ``tdo`` with these sub-commands; a single one is faster to build than all."""
    parser = kind(
        prog="tdo",
        usage="tdo [OPTION] COMMAND ...",
        description="Multilingual translation with decoder-only and two-stage models.\n\n"
        + _listing(),
        epilog=f"also: {', '.join(ALSO)}\n`tdo COMMAND --help` says more, with an example.",
    )
    parser.add_argument("--version", action=PrintVersions)
    parser.add_argument("--print-completion", action=PrintCompletion)
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, prog="tdo", help=argparse.SUPPRESS
    )
    for name in names:
        declare(commands, name, import_module(f"tdo_plugin.cli.{name.replace('-', '_')}"))
    return parser


def _listing() -> str:
    lines = []
    for group, commands in GROUPS.items():
        heads = [group, *[""] * (len(commands) - 1)]
        for head, (names, purpose) in zip(heads, commands.items(), strict=True):
            lines.append(f"{head:11}{names:28}{purpose}")
    return "\n".join(lines)


def _renamed(words: list[str]) -> list[str]:
    """The words with the command's current name; warns if the name was an old one."""
    for old, new in RENAMED.items():
        count = len(old.split())
        rest = words[count:]
        if words[:count] == old.split() and not set(rest[:1]) & set(NOT_OLD.get(old, ())):
            tell(f"tdo {old}: warning: this command is now called tdo {new}")
            return [*new.split(), *rest]
    return words


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tdo`` with ``argv`` (default: the arguments of the process).

    Returns:
        The exit code: the command's, 2 for a user error or lack of memory, 130 for an interrupt,
        141 if the reader of the output has closed its pipe, as with ``| head``. SIGTERM raises
        SystemExit with 143.
    """
    words = _renamed(list(sys.argv[1:] if argv is None else argv))
    if words and words[0] in GONE:
        tell(f"tdo: error: `COMMAND` must be {GONE[words[0]]}; it is {words[0]}, which was removed")
        return 2
    end_with_parent()
    known = words[:1] if words and words[0] in COMMANDS else COMMANDS
    args = build_parser(known).parse_args(words)
    try:
        with ended_by_signal(args.prog):
            code = int(args.run(args))
        with named_when_full("standard output"):
            print(end="", flush=True)  # a closed pipe shows here at the latest
        return code
    except BaseException as error:
        if isinstance(error, BrokenPipeError) and reader_is_gone():
            return CLOSED
        line = one_line(type(error), error)
        if line is None:
            raise
        tell(f"{args.prog}: error: {line}")
        return 130 if isinstance(error, KeyboardInterrupt) else 2
