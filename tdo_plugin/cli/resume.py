"""`tdo resume`: continue an interrupted training with its original settings."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdo_compat.errors import tell

HELP = "continue an interrupted `tdo train` with its original settings"
EXAMPLE = "tdo resume my-model"

LAST = "checkpoint_last.pt"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("folder", type=Path, metavar="SAVE_DIR", help="checkpoint folder of the training run")
    add("--dry-run", action="store_true", help="only print the command")


def run(args: argparse.Namespace) -> int:
    """Print the command and, unless --dry-run, replace this process by it."""
    from tdo_plugin.cli.train import start
    from tdo_plugin.launch.text_training import continue_preparation
    from tdo_plugin.launch.training_record import read_record

    save_dir = args.folder.resolve()
    record = read_record(save_dir)
    last = save_dir / LAST
    if last.is_file() and (reached := _reached(last, record.words(save_dir)[0])):
        if not args.dry_run:
            continue_preparation(Path(record.data), beside=False)
        tell(f"training is finished: {reached}")
        return 0
    return start(record, save_dir, args.dry_run)


def _reached(last: Path, words: list[str]) -> str:
    """The limit of the command that a checkpoint has reached; empty if training can continue."""
    from tdo_plugin.checkpoints import describe, read
    from tdo_plugin.launch.training import last_value

    state = read(last, "SAVE_DIR")
    epoch = ((state.get("extra_state") or {}).get("train_iterator") or {}).get("epoch", 1)
    # a checkpoint stores the epoch to continue with
    for option, done in (
        ("--max-update", describe(last, state).updates),
        ("--max-epoch", epoch - 1),
    ):
        limit = last_value(words, option) or ""
        if limit.isdecimal() and 0 < int(limit) <= done:
            return f"{done} of {option} {limit}"
    return ""
